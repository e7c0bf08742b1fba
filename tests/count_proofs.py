"""How many claims of each room have a written proof, and a refereed one: ``python -m tests.count_proofs``.

Claims that are made in loops, comparisons of trained arms, are measured and have no theorem; the last line counts
those that a file lists as such. ``python -m tests.count_proofs --refereed ID ...`` notes that somebody who did not
write the proofs of these claims has re-derived them, as they stand.
"""

from __future__ import annotations

import sys
from collections import defaultdict

from tests.test_proofs import MEASURED, PROVED, RECORDED, REFEREED, ROOT, claims_of, fingerprint, refereed


def lines():
    """Yield a line for each room, with the claims that lack a section where some have one, for all, and the rest."""
    proved = {heading for _, heading, _ in (section.values for section in PROVED)}
    read = set(refereed())
    rooms = defaultdict(list)
    for path in sorted((ROOT / "verify").rglob("test_*.py")):
        rooms[path.parent.name] += [name for name, _ in claims_of(path)]
    rooms["all"] = [name for names in rooms.values() for name in names]
    for room, names in rooms.items():
        left = [name for name in names if name not in proved]
        named = " ".join(left) if room != "all" and len(left) < len(names) else ""
        both = f"{len(names) - len(left):4} of {len(names):4} claims, {len(read & set(names)):4} refereed"
        yield f"{room:12} {both} {named}".rstrip()
    listed = {place.values[1] for place in MEASURED}
    nowhere = RECORDED - proved - listed
    yield f"{'measured':12} {len(listed):4} of {len(RECORDED):4} claims only; {len(nowhere)} without section or place"


def note(ids):
    """Write down that the proofs of these claims were read."""
    bodies = {heading: body for _, heading, body in (section.values for section in PROVED)}
    if strange := sorted(set(ids) - set(bodies)):
        raise ValueError(f"ids: expected claims with a section, got {', '.join(strange)}")
    listed = refereed() | {heading: fingerprint(heading, bodies[heading]) for heading in ids}
    rows = [f"{heading},{listed[heading]}\n" for heading in sorted(listed)]
    REFEREED.write_text("claim,read\n" + "".join(rows), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--refereed"]:
        note(sys.argv[2:])
    sys.stdout.writelines(f"{line}\n" for line in lines())
