"""A small folder of evidence, written by the code that writes the real one."""

import json
import subprocess

from theory.evidence import (
    Claim,
    Interval,
    Run,
    Verdict,
    at_most,
    batch_mean,
    bug,
    constant,
    decide,
    equals,
    hypothesis,
    verifies,
)
from theory.evidence.record import claim_of, seal, write

NOTES = """# Notes

by hand, above

<!-- theorem index: written by `python -m theory report`, do not edit -->
<!-- end of the theorem index -->

by hand, below

```bibtex
@book{higham2002,
  author = {Higham, Nicholas J.},
  title  = {Accuracy and Stability of {Numerical} Algorithms},
}

@misc{other1999, title = {Not cited}}
```
"""


def git(folder, *arguments):
    """Run git in a folder, as somebody."""
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(folder), *who, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603


@verifies(
    Claim(
        "sums.two",
        "one plus one is two",
        r"$1 + 1 = 2$",
        assumptions=("integers", "no overflow"),
        spec=("MA.D1",),
        cites=("higham2002",),
        source_status=("seen", "refereed on paper"),
    ),
    constant("three", "the sum is 3, 50% more", total=3),
    bug("minus", "the sign_of one summand", sign=-1),
)
def two(run, *, total=2, sign=1):
    for n in range(run.pick(quick=3, paper=30)):
        yield equals(Interval.within(1.0 + sign * 1.0, (n + 1) * 1e-15), total, n=n)


@verifies(
    Claim("sums.half", "a half is at most three quarters", r"$\frac12 \le \frac34$"),
    constant("third", "the bound is a third", bound=1 / 3),
    hypothesis("double", "the half is taken twice", times=2),
)
def half(run, *, bound=0.75, times=1):
    yield at_most(times * Interval.exactly(0.5), bound)


@verifies(
    Claim("means.normal", "a standard normal has mean zero", r"$\mathbb{E} X = 0$"),
    constant("shifted", "the mean is 0.2", mean=0.2),
    hypothesis("off-centre", "the draws are centred at 0.3", centre=0.3),
)
def normal(run, *, mean=0.0, centre=0.0):
    draws = next(run.streams(1)).normal(size=100_000)
    yield equals(batch_mean(draws + centre), mean, scale=1.0)


@verifies(
    Claim("means.large", "a standard normal has mean one", r"$\mathbb{E} X = 1$", finds=(Verdict.REFUTED,)),
    constant("two", "the mean is two", mean=2.0),
    hypothesis("off-centre", "the draws are centred at 0.3", centre=0.3),
)
def large(run, *, mean=1.0, centre=0.0):
    draws = next(run.streams(1)).normal(size=100_000)
    yield equals(batch_mean(draws + centre), mean, scale=1.0)


def lay(root):
    """Write notes and evidence under ``root`` and return the evidence folder."""
    (root / "paper_notes.md").write_text(NOTES, encoding="utf-8")
    folder = root / "verify" / "evidence"
    for verification in (two, half, normal):
        write(folder, decide(verification, Run(verification.claim.id)), "verify/test_sums.py")
    write(folder, decide(two, Run(two.claim.id, scale="paper")), "verify/test_sums.py")
    return folder


def edited(path, change, *, sealed=True):
    """Let ``change`` edit what a record says, and seal every entry again, as somebody who knows how might."""
    whole = json.loads(path.read_text(encoding="utf-8"))
    change(whole)
    for scale, entry in whole["scales"].items():
        if sealed:
            entry["seal"] = seal(claim_of(whole), whole["test"], scale, entry)
    path.write_text(json.dumps(whole, indent=1, sort_keys=True), encoding="utf-8")
