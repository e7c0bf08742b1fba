"""How a theorem is judged: intervals, claims and twins, the rule, and what a width may be made of.

Knows no theorem. Ball arithmetic and symbols load on first use.
"""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.evidence.cited import Claim as Claim
    from theory.evidence.claim import (
        Finding as Finding,
        Sort as Sort,
        Twin as Twin,
        Verification as Verification,
        at_least as at_least,
        at_most as at_most,
        bug as bug,
        constant as constant,
        equals as equals,
        found as found,
        hypothesis as hypothesis,
        outcome as outcome,
        verifies as verifies,
    )
    from theory.evidence.convergence import estimated as estimated, limit as limit, order as order
    from theory.evidence.enclosure import (
        ball as ball,
        balls as balls,
        hull as hull,
        precision as precision,
        sup_over as sup_over,
    )
    from theory.evidence.interval import Interval as Interval, Kind as Kind
    from theory.evidence.intervals import (
        Intervals as Intervals,
        as_intervals as as_intervals,
        exact as exact,
        is_enclosed as is_enclosed,
        within as within,
    )
    from theory.evidence.judge import Verdict as Verdict, judge as judge
    from theory.evidence.outward import norm as norm
    from theory.evidence.runner import Evidence as Evidence, Run as Run, decide as decide
    from theory.evidence.statistics import (
        batch_mean as batch_mean,
        bounded_mean as bounded_mean,
        proportion as proportion,
        run_mean as run_mean,
        slope as slope,
    )
    from theory.evidence.streams import ROOT as ROOT, stream as stream
    from theory.evidence.study import study as study
    from theory.evidence.sweep import sweep as sweep
    from theory.evidence.symbolic import zero as zero
    from theory.evidence.table import Table as Table
    from theory.evidence.witness import coarse as coarse, first_best as first_best

open_lazily(__name__)
