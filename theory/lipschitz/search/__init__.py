"""An adversarial search for clouds that attention stretches as much as it can."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.lipschitz.search.worst_cloud import (
        FLOOR as FLOOR,
        Found as Found,
        search as search,
        shrink as shrink,
    )

open_lazily(__name__)
