"""What was reported of metric-attention on translation."""

from theory.evidence import Verdict
from verify.experiments.reported import Task, reported

TRANSLATION = Task(
    "translation",
    "on translations of numerals",
    (
        "English numerals to German and French ones, no number is in both training and testing; the score is BLEU over characters, over 100",
        "an encoder-decoder transformer of dimension and width 64 with 2 layers of 4 heads; Adam, weight decay 5e-4, 40 epochs",
        "the learning rate that each attention chooses among three, at equal width and with as many parameters as dot-product attention",
    ),
    16,
    2,
)

test_loss_self = reported(TRANSLATION, "loss", "self", Verdict.REFUTED)
test_loss_l2 = reported(TRANSLATION, "loss", "l2", Verdict.REFUTED)
test_score_self = reported(TRANSLATION, "score", "self", Verdict.REFUTED)
test_score_l2 = reported(TRANSLATION, "score", "l2", Verdict.REFUTED)
test_spread_self = reported(TRANSLATION, "spread", "self", Verdict.INCONCLUSIVE)
test_spread_l2 = reported(TRANSLATION, "spread", "l2", Verdict.INCONCLUSIVE)
