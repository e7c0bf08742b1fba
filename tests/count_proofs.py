"""How many claims of each room have a written proof: ``python -m tests.count_proofs``.

Claims that are made in loops, those of reported experiments, are measured and not proved; they are not counted.
"""

from __future__ import annotations

import sys
from collections import defaultdict

from tests.test_proofs import PROVED, ROOT, claims_of


def lines():
    """Yield a line for each room, with the claims that lack a section where some have one, and one for all."""
    proved = {heading for _, heading, _ in (section.values for section in PROVED)}
    rooms = defaultdict(list)
    for path in sorted((ROOT / "verify").rglob("test_*.py")):
        rooms[path.parent.name] += [name for name, _ in claims_of(path)]
    rooms["all"] = [name for names in rooms.values() for name in names]
    for room, names in rooms.items():
        left = [name for name in names if name not in proved]
        named = " ".join(left) if room != "all" and len(left) < len(names) else ""
        yield f"{room:12} {len(names) - len(left):4} of {len(names):4} claims {named}".rstrip()


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in lines())
