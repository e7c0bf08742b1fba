"""What was reported of metric-attention on images of digits."""

from theory.evidence import Verdict
from verify.experiments.reported import ITSELF, PERMUTED, Task, reported

DIGITS = Task(
    "digits",
    "on images of digits",
    (
        "scikit-learn's 1797 images, split anew for every pair, 1000 for training and 500 for testing, 100 images attend to each other",
        "two blocks of attention of dimension and width 32 between linear maps; Adam, weight decay 1e-4, 300 epochs",
        "learning rate 1e-4, or the one that each attention chooses among six, then also with as many parameters as dot-product attention",
    ),
    24,
    3,
)

test_loss_self = reported(DIGITS, "loss", "self", Verdict.SUPPORTED, PERMUTED)
test_loss_l2 = reported(DIGITS, "loss", "l2", Verdict.INCONCLUSIVE, PERMUTED)
test_score_self = reported(DIGITS, "score", "self", Verdict.SUPPORTED, ITSELF)
test_score_l2 = reported(DIGITS, "score", "l2", Verdict.REFUTED, ITSELF)
test_spread_self = reported(DIGITS, "spread", "self", Verdict.INCONCLUSIVE)
test_spread_l2 = reported(DIGITS, "spread", "l2", Verdict.INCONCLUSIVE)
