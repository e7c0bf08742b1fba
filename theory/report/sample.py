"""Paper evidence decided again: a few claims at a time, others at every commit."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from theory.evidence.closure import located
from theory.evidence.provenance import commit
from theory.report.archive import ArchiveError, Record

_SCALE = "paper"
_SECONDS = 600  # far more than the claims that are drawn take


def choose(records: Sequence[Record], count: int, key: str) -> list[Record]:
    """Draw claims with paper evidence, by hashes of their ids under a key: every key draws others.

    A claim that rests on a study is not drawn: the study is what takes minutes at this scale, and its figure draws it.
    """
    cheap = [r for r in records if _SCALE in r.entries and not r.entries[_SCALE].tables]
    return sorted(cheap, key=lambda r: hashlib.sha256(f"{key} {r.claim.id}".encode()).digest())[:count]


def decide_again(records: Sequence[Record], folder: Path, count: int) -> tuple[str, bool]:
    """Decide some claims again at paper scale and compare them with their records.

    Parameters
    ----------
    records : sequence of Record
        All that there are.
    folder : Path
        Where they lie.
    count : int
        How many claims; none for 0.

    Returns
    -------
    str, bool
        What came out, empty for no claim; whether one of them contradicts its record or was not decided.

    Raises
    ------
    ArchiveError
        If the count is negative, or the tests of the claims are not there.
    """
    if count < 0:
        raise ArchiveError(f"--sample: expected a count of claims, got {count}")
    if not count:
        return "", False
    places = {r.claim.id: place for r in records if (place := located(folder, r.test)) is not None}
    there = [r for r in records if r.claim.id in places]
    if not there:
        raise ArchiveError(f"--sample: expected the tests of the claims in {folder}, found none")
    root = places[there[0].claim.id][1]
    chosen = choose(there, count, (commit(root, ()) or "").removesuffix("+"))
    named = ", ".join(record.claim.id for record in chosen)
    status, text = _run_pytest(root, [f"{record.test}::{record.claim.id}" for record in chosen])
    if status == 0:
        return f"decided again at scale {_SCALE}, as recorded: {named}\n", False
    return f"{text}decided again at scale {_SCALE}, NOT as recorded: one of {named}\n", True


def _run_pytest(root: Path, items: Sequence[str]) -> tuple[int, str]:
    """Run pytest on these items, and return its status and what it says."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--scale", _SCALE, *items]
    environment = {**os.environ, "NO_COLOR": "1"}
    try:
        done = subprocess.run(  # noqa: S603  the items are those of the records
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return 1, f"pytest took more than {_SECONDS} s\n"
    return done.returncode, done.stdout + done.stderr
