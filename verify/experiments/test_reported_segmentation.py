"""What was reported of metric-attention on parts of human bodies."""

from theory.evidence import Verdict
from verify.experiments.reported import PERMUTED, Task, reported

SEGMENTATION = Task(
    "segmentation",
    "on parts of human meshes",
    (
        "generated bodies, fresh for every pair, 16 for training and 8 for testing; 200 faces of a body, drawn, attend to each other",
        "two blocks of attention of dimension and width 64 between linear maps; Adam, weight decay 1e-4, 40 epochs",
        "learning rate 1e-3, or the one that each attention chooses among four, then also with as many parameters as dot-product attention",
    ),
    24,
    3,
)

test_loss_self = reported(SEGMENTATION, "loss", "self", Verdict.SUPPORTED, PERMUTED)
test_loss_l2 = reported(SEGMENTATION, "loss", "l2", Verdict.INCONCLUSIVE, PERMUTED)
test_score_self = reported(SEGMENTATION, "score", "self", Verdict.SUPPORTED)
test_score_l2 = reported(SEGMENTATION, "score", "l2", Verdict.INCONCLUSIVE)
test_spread_self = reported(SEGMENTATION, "spread", "self", Verdict.INCONCLUSIVE)
test_spread_l2 = reported(SEGMENTATION, "spread", "l2", Verdict.INCONCLUSIVE)
