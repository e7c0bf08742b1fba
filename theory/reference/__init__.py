"""Known answers: certified values of attention and its parts, as files that a test of any kernel can load.

``reference/`` has the files and says how to use them; ``python -m theory reference`` writes them, or compares.
"""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.reference.files import known_answers as known_answers

open_lazily(__name__)
