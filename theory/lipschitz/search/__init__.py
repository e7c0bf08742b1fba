"""An adversarial search for clouds that attention stretches as much as it can."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.lipschitz.search.worst_cloud import (
        LEAST_WEIGHT as LEAST_WEIGHT,
        WorstCloud as WorstCloud,
        search_worst_cloud as search_worst_cloud,
        simplify_cloud as simplify_cloud,
    )

open_lazily(__name__)
