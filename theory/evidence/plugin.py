"""The pytest plugin: one item is one claim with its twins and its verdict.

Collects every :class:`~theory.evidence.claim.Verification` of a test module under the id of its claim, brings the
fixture ``run`` and the options ``--scale``, ``--root``, ``--record``, ``--dask`` and ``--case``, and closes with the
table of verdicts. Works in any repository where the package is installed. Nothing is gathered across items, so
selection, order and workers change no byte.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from theory.evidence.claim import Verification
from theory.evidence.judge import Verdict, reach
from theory.evidence.streams import ROOT

if TYPE_CHECKING:
    from _pytest._code.code import ExceptionInfo, TerminalRepr
    from _pytest.terminal import TerminalReporter

    from theory.evidence.ledger import Evidence, Run

_CLAIM = "attention-theory"  # user properties of a report: which claim it is of, and what came out
_ROW = "attention-theory verdict"
_GROUPS = {  # how pytest sorts reports, and what a claim that was not decided is called there; the last one stands
    "passed": "PASSED", "failed": "ERROR", "skipped": "SKIPPED", "xpassed": "XPASSED", "xfailed": "XFAILED",
    "error": "ERROR",
}  # fmt: skip
_EXCUSES = ("skip", "skipif", "xfail")
_FAULT = "so the statement, the instrument or the derived width is wrong", "but not that of every twin"  # if stated


class NotSupportedError(AssertionError):
    """A claim was decided and does not come out as it must; the message is the paragraph for the reader."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of a verification run."""
    group = parser.getgroup("attention-theory", "theorems decided with falsification twins")
    group.addoption(
        "--scale", choices=("quick", "paper"), default="quick", help="sizes: quick decides, paper is what is cited"
    )
    group.addoption(
        "--root", type=int, default=ROOT, metavar="N", help="entropy of every random stream (audit with fresh draws)"
    )
    group.addoption(
        "--record", action="store_true", help="write the evidence beside the tests instead of comparing with it"
    )
    group.addoption("--dask", metavar="ADDRESS", help="run sweeps on the cluster whose scheduler listens there")
    group.addoption("--case", type=int, metavar="K", help="judge the selected claims on their case K only")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse options that contradict each other."""
    if config.getoption("--record") and config.getoption("--case") is not None:
        raise pytest.UsageError("--record: expected a whole run, got --case")
    if config.getoption("--record") and config.getoption("--root") != ROOT:
        raise pytest.UsageError(
            f"--record: expected the root of every record, {ROOT}, got {config.getoption('--root')}"
        )
    address = config.getoption("--dask")
    if address is not None:
        from theory.evidence.sweep import sweeping_on_dask  # noqa: PLC0415  only then needed

        cluster = ExitStack()
        try:
            cluster.enter_context(sweeping_on_dask(address))
        except (ModuleNotFoundError, ValueError) as error:
            raise pytest.UsageError(str(error)) from error
        config.add_cleanup(cluster.close)


class ClaimItem(pytest.Function):
    """One claim, decided."""

    verification: Verification

    def runtest(self) -> None:
        """Decide the claim, then write its evidence or compare with the committed one."""
        from theory.evidence import ledger, record  # noqa: PLC0415  only a run needs it

        names = inspect.signature(self.verification.check).parameters
        fixtures = {name: value for name, value in self.funcargs.items() if name in names and name != "run"}
        run = cast("Run", self.funcargs["run"])
        case = self.config.getoption("--case")
        evidence = ledger.decide(self.verification, run, fixtures=fixtures, case=case)
        folder = shelf(self.path, self.config.rootpath)
        recording = self.config.getoption("--record")
        row = _row(evidence)
        self.user_properties.append((_ROW, row))
        if recording:  # whatever came out: what lost its support must not look supported
            record.write(folder, evidence, Path(os.path.relpath(self.path, self.config.rootpath)).as_posix())
        if not evidence.stated:
            raise NotSupportedError(explain(evidence, self._address()))
        if not recording and case is None and not self.config.stash.get(foreign_data, False):
            row["recorded"] = record.recorded(folder, evidence)
            moved = record.compare(folder, evidence)
            if moved:
                name = record.path_of(folder, evidence.claim).name
                raise NotSupportedError(
                    f"{evidence.claim.id} is {evidence.verdict.value}, but contradicts {name}: "
                    f"{moved}. Find out why; if the new number is right, rerun with --record and log the move."
                )

    def _address(self) -> str:
        """Return the node id as it is typed where pytest was called."""
        path = os.path.relpath(self.path, self.config.invocation_params.dir)
        return f"{Path(path).as_posix()}::{self.name}"

    def repr_failure(self, excinfo: ExceptionInfo[BaseException], *args: Any, **kwargs: Any) -> str | TerminalRepr:
        """Return the paragraph of a claim that does not stand, or the traceback of an error."""
        from theory.evidence.reading import RecordError  # noqa: PLC0415  only a failure needs it

        if isinstance(excinfo.value, (NotSupportedError, RecordError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *args, **kwargs)


def shelf(path: Path, root: Path) -> Path:
    """Return where the records of a test file lie: ``evidence`` in its topmost folder below ``root``."""
    below = path.relative_to(root).parts if path.is_relative_to(root) else ()
    return (root / below[0] if len(below) > 1 else path.parent) / "evidence"


foreign_data = pytest.StashKey[bool]()
"""Set in ``config.stash`` by a suite that was given data of the user's own: the committed evidence is then not
compared."""


def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, obj: object) -> list[pytest.Item] | None:
    """Collect a verification under the id of its claim."""
    if not isinstance(obj, Verification):
        return None
    item: ClaimItem = ClaimItem.from_parent(collector, name=obj.claim.id, callobj=obj.check)
    item.verification = obj
    item.user_properties.append((_CLAIM, {"id": obj.claim.id, "words": obj.claim.words}))
    return [item]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse two claims of one id, whose evidence would overwrite each other, and claims that may not fail."""
    seen: dict[str, ClaimItem] = {}
    for item in items:
        if not isinstance(item, ClaimItem):
            continue
        if seen.setdefault(item.name, item) is not item:
            raise pytest.UsageError(f"claim id: expected it once, got {seen[item.name].nodeid} and {item.nodeid}")
        excuse = next((mark.name for mark in item.iter_markers() if mark.name in _EXCUSES), None)
        if excuse is not None:
            raise pytest.UsageError(f"marks: expected a claim that must be supported, got {excuse} on {item.nodeid}")


@pytest.fixture
def run(request: pytest.FixtureRequest) -> Run:
    """Sizes, streams and studies of the claim that asks."""
    from theory.evidence.ledger import Run  # noqa: PLC0415

    return Run(request.node.name, request.config.getoption("--scale"), request.config.getoption("--root"))


def explain(evidence: Evidence, nodeid: str) -> str:
    """Say in one paragraph why a claim does not stand, and how to see that one case again."""
    claim, finding, nearest = evidence.claim, evidence.finding, evidence.nearest
    text = [f"{claim.id} is {evidence.verdict.name}: {claim.words}."]
    if claim.finds != (Verdict.SUPPORTED,):
        text.append(f"It states that it finds {' or '.join(verdict.name for verdict in claim.finds)}.")
    if finding is not None:
        where = ", ".join(f"{k}={v}" for k, v in finding.case.items()) or "no parameters"
        text.append(
            f"Worst of {evidence.cases} cases is number {evidence.number} ({where}): measured {finding.measured}, "
            f"claimed {finding.claimed} ({finding.relation}), departure {finding.departure}."
        )
    text.append(_reason(evidence))
    if nearest is not None:
        caught = f"caught in {nearest.catches} of {nearest.cases} cases"
        text.append(f"Nearest twin: {nearest.twin.id} ({nearest.twin.breaks}), {caught}.")
    if finding is not None:
        backend = os.environ.get("THEORY_BACKEND", "compiled")
        chosen = "" if backend == "compiled" else f"THEORY_BACKEND={backend} "
        again = f"{chosen}pytest '{nodeid}' --case {evidence.number} --scale {evidence.scale} --root {evidence.root}"
        text.append(f"See that case again: {again}")
    return " ".join(text)


def _reason(evidence: Evidence) -> str:
    if evidence.verdict is Verdict.REFUTED:
        return f"The departure is certainly positive, {_FAULT[evidence.verdict in evidence.claim.finds]}."
    if evidence.verdict is Verdict.VACUOUS:
        if not evidence.cases:
            return "The check yielded no case, so it cannot lose."
        if evidence.nearest is None:
            return "It has no twin, so the check was never seen to lose."
        return f"The twin {evidence.nearest.twin.id} is refuted nowhere, so the check cannot tell the claim from it."
    if evidence.verdict is Verdict.SUPPORTED:
        return "No departure that the data still allow is large beside that of a twin."
    gap = 0.0 if evidence.nearest is None else evidence.nearest.departure.lo
    return (
        f"Departures up to {evidence.departure.hi:.3g} remain possible, more than the {reach(evidence.kind, gap):.3g} "
        f"that a twin failing by {gap:.3g} allows for kind {evidence.kind.name.lower()}: the intervals are too wide."
    )


def _row(evidence: Evidence) -> dict[str, Any]:
    gap = 0.0 if evidence.nearest is None else evidence.nearest.departure.lo
    cases, room = evidence.cases, max(evidence.departure.hi, 0.0)
    return {
        "id": evidence.claim.id,
        "words": evidence.claim.words,
        "kind": evidence.kind.name.lower(),
        "verdict": evidence.verdict.name,
        "stated": evidence.stated,
        "tightness": evidence.tightness,
        "margin": (reach(evidence.kind, gap) / room if room > 0.0 else float("inf")) if gap > 0.0 < cases else 0.0,
        "twins": f"{sum(f.departure.lo > 0.0 for f in evidence.failures)}/{len(evidence.failures)}",
        "recorded": None,
    }


def _rows(stats: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return a row for every claim that was to be decided, whatever became of it."""
    rows: dict[str, dict[str, Any]] = {}
    for group, undecided in _GROUPS.items():
        for report in stats.get(group, ()):
            given = dict(getattr(report, "user_properties", ()))  # what could not be collected has none
            if _CLAIM not in given:
                continue
            empty = {"verdict": undecided, "kind": "-", "tightness": None, "margin": None, "twins": "-"}
            row = {**given[_CLAIM], **empty, "stated": False, "recorded": None, **given.get(_ROW, {})}
            if group == "error":  # it was decided, and could not be set up or cleaned away
                row |= {"verdict": undecided, "stated": False}
            rows[row["id"]] = {**row, "seconds": report.duration}
    return list(rows.values())


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    """Close with the table of verdicts: coloured under a terminal, plain lines in a log."""
    rows = _rows(terminalreporter.stats)
    if not rows:
        return
    from theory.evidence.board import verdict_table  # noqa: PLC0415  loads rich

    terminalreporter.section(f"theorems (scale {config.getoption('--scale')}, root {config.getoption('--root')})")
    markup = terminalreporter.hasmarkup
    width = terminalreporter._tw.fullwidth if markup else None  # noqa: SLF001  pytest has no public name for it
    terminalreporter.write(verdict_table(rows, colour=markup, width=width))
    loose = sorted(row["id"] for row in rows if row["recorded"] is False)
    if loose:
        terminalreporter.write_line(f"no record, so nothing was compared (--record writes it): {', '.join(loose)}")
