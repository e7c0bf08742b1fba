"""Two trained networks on bodies that neither has seen: which of them names more faces right."""

from theory.evidence import Claim, Interval, at_least, bug, constant, equals, statistics, verifies
from theory.experiments import studies


@verifies(
    Claim(
        "trained.segmented-bodies",
        "of one pair of trained networks without residual connections, that with metric-attention names on average a tenth more of the faces of a new body right than that with dot-product attention",
        r"$\mathbb E[a_{\mathrm{metric}} - a_{\mathrm{self}}] \ge \frac1{10}$ for the share $a$ of the faces of a drawn body that are named right",
        assumptions=(
            "one pair of networks, trained once on 16 generated bodies for 40 epochs at the learning rate 3e-3",
            "the mean is over newly drawn bodies, not over runs of training",
        ),
        cites=("ruan2024",),
        source_status=("derived",),
    ),
    constant("half", "it names half of all faces more right", margin=0.5),
    bug("same", "both labels are those of one network", ours="self"),
    bug("shifted", "the body that is drawn is not the one that was counted, but the next", shift=1),
)
def test_bodies(run, *, margin=0.1, ours="metric", shift=0):
    counts = run.study(studies.named_faces)
    drawn = run.study(studies.segmented_bodies)
    gains = (counts[ours] - counts["self"]) / counts["faces"]
    gain = statistics.run_mean(gains) if gains.any() else Interval.exactly(0.0)  # as a network has over itself
    yield at_least(gain, margin, scale=1.0, bodies=len(counts))
    for number in drawn.levels("body"):
        body, counted = drawn.where(body=number), counts.where(body=number + shift)  # what is drawn was counted
        share = Interval.exactly(int((body[ours] == body["part"]).sum())) / len(body)
        yield equals(share, Interval.exactly(int(counted[ours][0])) / int(counted["faces"][0]), scale=1.0, body=number)
