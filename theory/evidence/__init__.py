"""How a theorem is judged: intervals, claims and twins, the rule, and what a width may be made of.

Knows no theorem. Ball arithmetic and symbols load on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from theory.evidence.claim import (
    Claim as Claim,
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
from theory.evidence.interval import Interval as Interval, Kind as Kind
from theory.evidence.judge import Verdict as Verdict, judge as judge
from theory.evidence.streams import ROOT as ROOT, stream as stream
from theory.evidence.sweep import sweep as sweep
from theory.evidence.table import Table as Table

if TYPE_CHECKING:
    from theory.evidence.convergence import limit as limit, order as order
    from theory.evidence.enclosure import (
        balls as balls,
        ends as ends,
        hull as hull,
        precision as precision,
        sup_over as sup_over,
    )
    from theory.evidence.ledger import Evidence as Evidence, Run as Run, decide as decide
    from theory.evidence.roundoff import (
        discrepancy as discrepancy,
        gamma as gamma,
        softmax_error as softmax_error,
        total as total,
    )
    from theory.evidence.statistics import (
        batch_mean as batch_mean,
        bounded_mean as bounded_mean,
        proportion as proportion,
        run_mean as run_mean,
        slope as slope,
    )
    from theory.evidence.symbolic import zero as zero
    from theory.evidence.witness import coarse as coarse, first_best as first_best

_LAZY = {
    "convergence": ("limit", "order"),
    "enclosure": ("balls", "ends", "hull", "precision", "sup_over"),
    "ledger": ("Evidence", "Run", "decide"),
    "roundoff": ("discrepancy", "gamma", "softmax_error", "total"),
    "statistics": ("batch_mean", "bounded_mean", "proportion", "run_mean", "slope"),
    "symbolic": ("zero",),
    "witness": ("coarse", "first_best"),
}
_HOME = {name: module for module, names in _LAZY.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
