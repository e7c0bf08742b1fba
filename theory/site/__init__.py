"""The atlas: the committed evidence, its proofs, figures and notes as a static site that needs no server.

Decides nothing and changes nothing: it reads what :mod:`theory.report` reads, and writes pages into a folder. Its door
is ``python -m theory site``.
"""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.site.build import build_site as build_site

open_lazily(__name__)
