"""Whether evidence is of the code that is there now: what was recorded before a file of its check changed.

Where there are no tests at all, as in a wheel, nothing is said; a change of comments or layout is none.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from theory.evidence.closure import Closure, closures, located, print_of
from theory.evidence.provenance import differing, stored
from theory.evidence.record import RecordError, whole_of
from theory.report.archive import ArchiveError, Record, record_paths

Changes: TypeAlias = Mapping[tuple[str, str], tuple[str, ...]]
"""By claim and scale, for what was recorded before its code changed: what changed, if git can tell, or is gone."""

_NAMED = 4  # files of tests that a command names; more are called by their folder


def changes(records: Sequence[Record], folder: Path) -> Changes:
    """Return what was recorded before its code changed.

    Parameters
    ----------
    records : sequence of Record
        What is asked about.
    folder : Path
        Where they lie.

    Raises
    ------
    ArchiveError
        If a file of a check is no Python.
    """
    places = {test: place for test in {r.test for r in records} if (place := located(folder, test)) is not None}
    roots: dict[Path, list[Path]] = defaultdict(list)
    for path, root in places.values():
        roots[root].append(path)
    try:
        now = {(path, root): closure for root in roots for path, closure in closures(roots[root], root).items()}
    except (SyntaxError, OSError) as error:
        raise ArchiveError(f"{error.filename}: expected a module that can be read: {error}") from error
    tested = bool(places) or _has_tests(folder)
    since: dict[tuple[Path, str], dict[str, str | None]] = {}
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for record in records:
        if record.test not in places:
            if tested:
                found |= {(record.claim.id, scale): (_gone(record.test),) for scale in record.entries}
            continue
        closure = now[places[record.test]]
        root = places[record.test][1]
        for entry in record.entries.values():
            if entry.provenance["closure"] == closure.fingerprint:
                continue
            commit = (entry.provenance["commit"] or "").removesuffix("+")
            if (root, commit) not in since:
                since[root, commit] = _since(root, commit, {name for one in now.values() for name in one.files})
            found[record.claim.id, entry.scale] = _changed_files(closure, since[root, commit])
    return found


def _has_tests(folder: Path) -> bool:
    """Tell whether the test file of any record of ``folder`` is there, as it is not in a wheel."""
    for path in record_paths(folder):
        try:
            test = whole_of(path).get("test")
        except RecordError:
            continue
        if isinstance(test, str) and located(folder, test) is not None:
            return True
    return False


def _gone(test: str) -> str:
    return f"its test file {test}, which is gone"


def _since(root: Path, commit: str, among: set[str]) -> dict[str, str | None]:
    """Return the fingerprints that files had at a commit from which they differ now, ``None`` where they were not."""
    names = differing(root, commit) if commit else None
    old = {name: stored(root, commit, name) for name in (names or frozenset()) & among}
    return {name: None if content is None else print_of(name, content) for name, content in old.items()}


def _changed_files(closure: Closure, since: Mapping[str, str | None]) -> tuple[str, ...]:
    return tuple(name for name in sorted(closure.files) if name in since and since[name] != closure.files[name])


def warnings(records: Sequence[Record], found: Changes, scale: str) -> list[str]:
    """Return a line for each set of files whose change makes evidence of a scale old, with the command that renews it.

    Parameters
    ----------
    records : sequence of Record
        What was asked about.
    found : mapping
        What :func:`changes` returned.
    scale : {"quick", "paper"}
        Of which evidence.
    """
    groups: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for record in records:
        if (record.claim.id, scale) in found:
            groups[found[record.claim.id, scale]].append(record)
    option = "" if scale == "quick" else f" --scale {scale}"
    return [
        f"{_count(old)} recorded at scale {scale} before {_what(files)}: "
        f"pytest {_tests({_decider(record, files) for record in old})}{option} --record"
        for files, old in sorted(groups.items())
    ]


def _count(old: Sequence[Record]) -> str:
    return f"{old[0].claim.id} was" if len(old) == 1 else f"{len(old)} claims ({old[0].claim.id}, ...) were"


def _what(files: Sequence[str]) -> str:
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return f"a change in {', '.join(files[:_NAMED])}{more}" if files else "the code changed"


def _decider(record: Record, files: tuple[str, ...]) -> str:
    """Return the file that decides a claim now, or the folder in which to look for it."""
    return f"{PurePosixPath(record.test).parts[0]}/" if files == (_gone(record.test),) else record.test


def _tests(tests: Iterable[str]) -> str:
    named = sorted(tests)
    if len(named) > _NAMED:
        named = sorted({PurePosixPath(test).parts[0] + "/" for test in named})
    return shlex.join(named)
