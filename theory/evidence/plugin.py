"""The pytest plugin: one item is one claim with its twins and its verdict.

Collects every :class:`~theory.evidence.claim.Verification` of a test module under the id of its claim, brings the
fixture ``run`` and the options of a verification run, and closes with the table of verdicts. Works in any repository
where the package is installed, and costs a run without claims nothing: numbers load with the first claim. Nothing is
gathered across items, so selection, order and workers change no byte.

Every option is also there as ``--theory-NAME``, which alone remains where a conftest or another plugin has its own
option of the short name.
"""

from __future__ import annotations

import copy
import gc
import inspect
import math
import os
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from theory._backend import backend

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

    from theory.evidence.claim import Verification
    from theory.evidence.countdown import Corner, Countdown
    from theory.evidence.runner import Evidence, Run

_OPTIONS: dict[str, dict[str, Any]] = {
    "scale": {
        "choices": ("quick", "paper"), "default": "quick", "help": "sizes: quick decides, paper is what is cited",
    },
    "root": {"type": int, "metavar": "N", "help": "entropy of every random stream (audit with fresh draws)"},
    "record": {"action": "store_true", "help": "write the evidence beside the tests instead of comparing with it"},
    "dask": {"metavar": "ADDRESS", "help": "run sweeps on the cluster whose scheduler listens there"},
    "case": {"type": int, "metavar": "K", "help": "judge the selected claims on their case K only, and show it"},
    "table": {"metavar": "FILE", "help": "write the closing table whole, as .csv or .json"},
}  # fmt: skip
_PREFIX = "theory-"  # of the user properties of a report: what claim it is of, and what came out
_REFUSED = {  # marks that a claim cannot have, and what is expected instead
    **dict.fromkeys(("skip", "skipif", "xfail"), "a claim that must be supported"),
    "parametrize": "the cases in the check itself",
}
_FAULT = "so the statement, the instrument or the derived width is wrong", "but not that of every twin"  # if stated
_YOUNG = 70_000  # taken: objects after which cycles are looked for; that takes a twentieth of a run at Python's 700
_ROOTS = (".git", ".hg", "pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "setup.py")
_LEAVES = {"skip": pytest.skip.Exception, "xfail": pytest.xfail.Exception, "exit": pytest.exit.Exception}

foreign_data = pytest.StashKey[str]()
"""Set in the stash of an item by a fixture that gave it data of the user's own: what they are called. The claim is then
not compared with its record."""
_SHORT = pytest.StashKey[frozenset[str]]()  # names of the options that are there without the prefix
_CLAIMS = pytest.StashKey[dict[str, tuple[str, tuple[str, int]]]]()  # node and place of every claim that was met


class NotSupportedError(AssertionError):
    """A claim does not come out as it must, or cannot be decided; the message is the paragraph for the reader."""


# --- options ---


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options at once where a conftest loads this plugin, since it is too late for the hook below."""
    files = [getattr(plugin, "__file__", None) or "" for plugin in pluginmanager.get_plugins()]
    if any(Path(file).name == "conftest.py" for file in files):
        _add_options(parser)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, None, None]:
    """Add the options when every conftest has added its own, which keep their names."""
    names = [f"--{prefix}{name}" for name in _OPTIONS if name != "record" for prefix in ("", _PREFIX)]
    ours = {name for name in names if not _taken(parser, name)}
    others = [arg for before, arg in pairwise(["", *args]) if before not in ours]  # our values are no test folders
    known = parser.parse_known_args(others, namespace=copy.copy(early_config.option))
    early_config.known_args_namespace.file_or_dir = known.file_or_dir
    try:
        return (yield)
    finally:
        early_config.stash[_SHORT] = _add_options(parser)


def _add_options(parser: pytest.Parser) -> frozenset[str]:
    """Add every option under its long name, and under its short one if that is free; return those."""
    group = parser.getgroup("attention-theory", "theorems decided with falsification twins")
    free = frozenset(name for name in _OPTIONS if not _taken(parser, f"--{name}"))
    for name, attributes in _OPTIONS.items():
        names = [f"--{name}"] if name in free else []
        group.addoption(*names, f"--{_PREFIX}{name}", dest=f"theory_{name}", **attributes)
    return free


def _taken(parser: pytest.Parser, name: str) -> bool:
    try:
        return parser.parse_known_and_unknown_args([name])[1] != [name]
    except pytest.UsageError:  # it is there and wants a value
        return True


def given(config: pytest.Config, name: str) -> Any:
    """Return what was given for one of the options above."""
    value = config.getoption(f"theory_{name}")
    if name == "root" and value is None:
        from theory.evidence.streams import ROOT  # noqa: PLC0415  loads NumPy

        return ROOT
    return value


def pytest_configure(config: pytest.Config) -> None:
    """Refuse at once what would fail later."""
    try:
        backend()
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    for name in ("root", "case"):
        asked = config.getoption(f"theory_{name}")
        if asked is not None and asked < 0:
            raise pytest.UsageError(f"--{name}: expected an integer of at least 0, got {asked}")
    if given(config, "record") and given(config, "case") is not None:
        raise pytest.UsageError("--record: expected a whole run, got --case")
    if given(config, "record"):
        from theory.evidence.streams import ROOT  # noqa: PLC0415  loads NumPy

        if given(config, "root") != ROOT:
            got = given(config, "root")
            raise pytest.UsageError(f"--record: expected the root of every record, {ROOT}, got {got}")
    if given(config, "table") is not None:
        _check_table(Path(given(config, "table")))
    address = given(config, "dask")
    if address is not None:
        from theory.evidence.sweep import sweeping_on_dask  # noqa: PLC0415  only then needed

        cluster = ExitStack()
        try:
            cluster.enter_context(sweeping_on_dask(address))
        except (ModuleNotFoundError, ValueError) as error:
            raise pytest.UsageError(str(error)) from error
        config.add_cleanup(cluster.close)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Sitting(config), "attention-theory sitting")


def _check_table(path: Path) -> None:
    from theory.evidence.board import SUFFIXES  # noqa: PLC0415  only then needed

    if path.suffix not in SUFFIXES:
        raise pytest.UsageError(f"--table: expected a file {' or '.join(SUFFIXES)}, got {path}")
    if not path.parent.is_dir():
        raise pytest.UsageError(f"--table: expected a file in a folder that exists, got {path}")


# --- items ---


class ClaimItem(pytest.Function):
    """One claim, decided."""

    verification: Verification
    selecting = False

    def setup(self) -> None:
        """Make the fixtures."""
        with self._staying():
            super().setup()

    def runtest(self) -> None:
        """Decide the claim, then write its evidence or compare with the committed one."""
        from theory.evidence import runner  # noqa: PLC0415  only a run needs it

        names = inspect.signature(self.verification.check).parameters
        fixtures = {name: value for name, value in self.funcargs.items() if name in names and name != "run"}
        run = cast("Run", self.funcargs["run"])
        case = given(self.config, "case")
        foreign = self.stash.get(foreign_data, None)
        if foreign is not None:
            self.note(data=foreign)
        with self._staying(), _collecting_rarely():
            evidence = runner.decide(self.verification, run, fixtures=fixtures, case=case)
        self.note(**_facts(evidence))
        if case is not None:
            self.note(case=shown(evidence))
        if given(self.config, "record"):  # whatever came out: what lost its support must not look supported
            self._write(evidence)
        if not evidence.stated:
            raise NotSupportedError(explain(evidence, self._again(evidence)))
        if not given(self.config, "record") and case is None and foreign is None:
            self._compare(evidence)

    def _write(self, evidence: Evidence) -> None:
        from theory.evidence import record  # noqa: PLC0415

        test = Path(os.path.relpath(self.path, repository(self.path) or self.path.parent)).as_posix()
        try:
            record.write(shelf(self.path), evidence, test)
        except record.RecordError as error:
            self.note(verdict="UNRECORDED")
            fault = str(error).removeprefix(f"{Path.cwd()}{os.sep}")
            text = f"{evidence.claim.id} is {evidence.verdict.value}, but cannot be recorded: {fault}"
            raise NotSupportedError(text) from error

    def _compare(self, evidence: Evidence) -> None:
        from theory.evidence import record  # noqa: PLC0415

        folder = shelf(self.path)
        self.note(recorded="yes" if record.recorded(folder, evidence) else "no")
        moved = record.compare(folder, evidence)
        if moved:
            self.note(verdict="MOVED")
            path = record.path_of(folder, evidence.claim)
            raise NotSupportedError(
                f"{evidence.claim.id} is {evidence.verdict.value}, but contradicts {path.name}: "
                f"{moved.removeprefix(f'{path}: ')}. "
                f"Find out why; if the new number is right, rerun with --record and log the move."
            )

    @contextmanager
    def _staying(self) -> Iterator[None]:
        """Let nobody end the run, or the claim, from inside it."""
        try:
            yield
        except pytest.exit.Exception as left:
            self.note(verdict="UNDECIDED")
            raise NotSupportedError(undecided(self.name, left)) from left

    def note(self, **facts: str | float) -> None:
        """Add plain facts to the report of this item."""
        news = {_PREFIX + name: value for name, value in facts.items()}
        self.user_properties[:] = [*(old for old in self.user_properties if old[0] not in news), *news.items()]

    def _again(self, evidence: Evidence) -> str:
        """Return the command that shows the worst case again, as it is typed where pytest was called."""
        chosen = "" if backend() == "compiled" else f"THEORY_BACKEND={backend()} "
        path = Path(os.path.relpath(self.path, self.config.invocation_params.dir)).as_posix()
        short = self.config.stash.get(_SHORT, frozenset())
        values = {"case": evidence.number, "scale": evidence.scale, "root": evidence.root}
        options = [f"--{'' if name in short else _PREFIX}{name} {value}" for name, value in values.items()]
        return f"{chosen}pytest '{path}::{self.name}' {' '.join(options)}"

    def listchain(self) -> list[Any]:
        """Return the nodes above and this one; while items are selected this one only, so that ``-k`` knows ids."""
        return [self] if self.selecting else super().listchain()

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Return the place of the check, and a name that ``-v`` leaves the node id alone for."""
        path, line, _ = super().reportinfo()
        return path, line, f"claim {self.name}"


@contextmanager
def _collecting_rarely() -> Iterator[None]:
    """Let Python look for cycles a hundred times less often: checks make numbers, which have none."""
    before = gc.get_threshold()
    if gc.isenabled():
        gc.set_threshold(_YOUNG, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, obj: object) -> list[pytest.Item] | None:
    """Collect a verification under the id of its claim, with the marks above it."""
    claims = sys.modules.get("theory.evidence.claim")
    if claims is None:
        return None
    verification, marks = _unmarked(obj)
    if not isinstance(verification, claims.Verification):
        return None
    for mark in marks:
        if mark.mark not in getattr(verification.check, "pytestmark", []):
            mark(verification.check)
    item: ClaimItem = ClaimItem.from_parent(collector, name=verification.claim.id, callobj=verification.check)
    item.verification = verification
    item.note(id=verification.claim.id, words=verification.claim.words)
    _check_item(item)
    return [item]


def _unmarked(obj: object) -> tuple[object, list[pytest.MarkDecorator]]:
    """Return what lies under the marks of which it is the last argument, as they see what is no function."""
    marks: list[pytest.MarkDecorator] = []
    while isinstance(obj, pytest.MarkDecorator) and obj.args:
        *given_before, under = obj.args
        marks.insert(0, getattr(pytest.mark, obj.name).with_args(*given_before, **obj.kwargs))
        obj = under
    return obj, marks


def _check_item(item: ClaimItem) -> None:
    """Refuse a claim that may not fail, and a second one of its id: their evidence would be one file."""
    for mark in item.iter_markers():
        if mark.name in _REFUSED:
            raise pytest.Collector.CollectError(
                f"marks: expected {_REFUSED[mark.name]}, got {mark.name} on {item.nodeid}"
            )
    code = item.verification.check.__code__
    here = item.nodeid, (code.co_filename, code.co_firstlineno)
    first = item.config.stash.setdefault(_CLAIMS, {}).setdefault(item.name, here)
    if first[1] != here[1]:
        raise pytest.Collector.CollectError(f"claim id: expected it once, got {first[0]} and {here[0]}")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """Let ``-k`` see of a claim its id and marks, not the names of its file and folders."""
    claims = [item for item in items if isinstance(item, ClaimItem)]
    for item in claims:
        item.selecting = True
    try:
        return (yield)
    finally:
        for item in claims:
            item.selecting = False


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let no file of claims be skipped as a whole."""
    report = yield
    skipped = report.outcome == "skipped" and isinstance(collector, pytest.Module)
    if skipped and "@verifies(" in collector.path.read_text(encoding="utf-8", errors="replace"):
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid}: expected claims to be decided, got a file that is skipped"
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let no claim be skipped or excused, and tell what became of one in a paragraph instead of a traceback."""
    report = yield
    left = call.excinfo and call.excinfo.value
    if isinstance(item, ClaimItem) and report.outcome == "skipped":
        item.note(verdict="UNDECIDED")
        left = NotSupportedError(undecided(item.name, left))
        report.outcome = "failed"
        report.user_properties = list(item.user_properties)
        vars(report).pop("wasxfail", None)
    if isinstance(left, NotSupportedError):
        report.longrepr = str(left)
    return report


@pytest.fixture
def run(request: pytest.FixtureRequest) -> Run:
    """Sizes, streams and studies of the claim that asks."""
    from theory.evidence.runner import Run  # noqa: PLC0415

    return Run(request.node.name, given(request.config, "scale"), given(request.config, "root"))


# --- where records lie ---


def repository(path: Path) -> Path | None:
    """Return the nearest folder above a test file that looks like the top of a project, if there is one."""
    return next((folder for folder in path.parents if any((folder / name).exists() for name in _ROOTS)), None)


def shelf(path: Path) -> Path:
    """Return where the records of a test file lie, however pytest was called.

    The nearest folder ``evidence`` above the file and below the top of its project, or else a new one in the highest
    folder there; beside the file where it lies at the top itself, or in no project.
    """
    root = repository(path)
    below = [folder for folder in path.parents if root in folder.parents] or [path.parent]
    return next((folder for folder in below if (folder / "evidence").is_dir()), below[-1]) / "evidence"


# --- words ---


def undecided(claim: str, left: BaseException | None) -> str:
    """Say that a check or a fixture left instead of deciding."""
    way = next((name for name, kind in _LEAVES.items() if isinstance(left, kind)), "skip")
    reason = str(left or "").strip()
    return (
        f"{claim} is UNDECIDED: its check or a fixture ended in {way}"
        + (f" ({reason})" if reason else "")
        + (". A claim that is selected must be decided; leave it out with -k or --deselect.")
    )


def shown(evidence: Evidence) -> str:
    """Describe the worst case of a claim, or the only one, in a line."""
    finding = evidence.finding
    if finding is None:
        return "no case"
    where = ", ".join(f"{k}={v}" for k, v in finding.case.items()) or "no parameters"
    return (
        f"number {evidence.number} ({where}): measured {finding.measured}, "
        f"claimed {finding.claimed} ({finding.relation}), departure {finding.departure}"
    )


def explain(evidence: Evidence, again: str) -> str:
    """Say in one paragraph why a claim does not stand, and how to see that one case again."""
    from theory.evidence.judge import Verdict  # noqa: PLC0415  loads NumPy

    claim, nearest = evidence.claim, evidence.nearest
    text = [f"{claim.id} is {evidence.verdict.name}: {claim.words}."]
    if claim.finds != (Verdict.SUPPORTED,):
        text.append(f"It states that it finds {' or '.join(verdict.name for verdict in claim.finds)}.")
    if evidence.finding is not None:
        text.append(f"Worst of {evidence.cases} cases is {shown(evidence)}.")
    text.append(_reason(evidence))
    if nearest is not None:
        caught = f"caught in {nearest.catches} of {nearest.cases} cases"
        text.append(f"Nearest twin: {nearest.twin.id} ({nearest.twin.breaks}), {caught}.")
    if evidence.finding is not None:
        text.append(f"See that case again: {again}")
    return " ".join(text)


def _idle(evidence: Evidence) -> str:
    if not evidence.cases:
        return "The check yielded no case, so it cannot lose."
    if evidence.nearest is None:
        return "It has no twin, so the check was never seen to lose."
    if evidence.nearest.gap <= 0.0:
        return f"The twin {evidence.nearest.twin.id} is refuted nowhere, so the check cannot tell the claim from it."
    loose = [name or "(unnamed)" for name, part in evidence.parts.items() if part.gap <= 0.0]
    return f"No twin refutes the part {', '.join(loose)}, so the check was never seen to lose there."


def _reason(evidence: Evidence) -> str:
    from theory.evidence.judge import Verdict  # noqa: PLC0415

    if evidence.verdict is Verdict.REFUTED:
        return f"The departure is certainly positive, {_FAULT[evidence.verdict in evidence.claim.finds]}."
    if evidence.verdict is Verdict.VACUOUS:
        return _idle(evidence)
    if evidence.verdict is Verdict.SUPPORTED:
        return "No departure that the data still allow is large beside that of a twin."
    name, part = max(evidence.parts.items(), key=lambda item: item[1].used)
    where = f" in the part {name}" if name else ""
    return (
        f"Departures up to {part.departure.hi:.3g} remain possible{where}, more than the {part.reach:.3g} that a twin "
        f"failing by {part.gap:.3g} allows for kind {part.departure.kind.name.lower()}: the intervals are too wide."
    )


def _facts(evidence: Evidence) -> dict[str, str | float]:
    part = evidence.tightest
    gaps = [*(part.gap for part in evidence.parts.values()), *(result.gap for result in evidence.twins)]
    decisive = bool(evidence.twins) and min(gaps) > 0.0
    facts: dict[str, str | float] = {
        "verdict": evidence.verdict.name,
        "kind": evidence.kind.name.lower(),
        "margin": (1.0 / part.used if part.used > 0.0 else math.inf) if part is not None and decisive else 0.0,
        "twins": f"{sum(f.departure.lo > 0.0 for f in evidence.twins)}/{len(evidence.twins)}",
    }
    return facts if evidence.tightness is None else {**facts, "tightness": float(evidence.tightness)}


# --- what a person sees ---


class Sitting:
    """What one run shows: how much time is left, and the table of verdicts at its end.

    Lives where the terminal is, so not in the workers of pytest-xdist, whose reports it gets.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.rows: dict[str, dict[str, Any]] = {}
        self.seconds: dict[str, float] = {}
        self.countdown: Countdown | None = None
        self.corner: Corner | None = None
        self.trouble: str | None = None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Start the clock of a run in one process."""
        if any(isinstance(item, ClaimItem) for item in session.items):
            self._begin([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Start the clock of a run in several processes; the first that has collected speaks for all."""
        if self.countdown is None and any(map(_names_a_claim, ids)):
            self._begin(ids)

    def _begin(self, names: Sequence[str]) -> None:
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or not reporter.isatty or self.config.option.collectonly:
            return
        if not getattr(reporter, "_show_progress_info", False):  # as with -s: pytest itself shows no progress
            return
        from theory.evidence.countdown import Corner, Countdown  # noqa: PLC0415  only under a terminal

        self.countdown = Countdown(names, self._cached())
        if reporter.verbosity <= 0:
            self.corner = Corner(reporter._tw)  # noqa: SLF001  pytest has no public name for it
        elif hasattr(reporter, "_get_progress_information_message"):
            plain = reporter._get_progress_information_message  # noqa: SLF001

            def message() -> str:
                return f"{plain()} {self._left()}".rstrip()

            reporter._get_progress_information_message = message  # noqa: SLF001

    def _left(self) -> str:
        from theory.evidence.countdown import describe_remaining  # noqa: PLC0415

        seconds = None if self.countdown is None else self.countdown.left()
        return "" if seconds is None else describe_remaining(seconds)

    def _cached(self) -> dict[str, float]:
        cache = getattr(self.config, "cache", None)
        return {} if cache is None else cache.get(self._key, {})

    @property
    def _key(self) -> str:
        return f"attention-theory/seconds-{given(self.config, 'scale')}"

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of what a claim came to, and show how much time is left."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        told = {str(name): value for name, value in report.user_properties}
        facts = {name.removeprefix(_PREFIX): value for name, value in told.items() if name.startswith(_PREFIX)}
        if "id" in facts and (report.failed or report.when != "setup"):
            self._note(report, facts)
        if self.countdown is not None and report.when == "teardown":
            self.countdown.done(report.nodeid)
            if self.corner is not None:
                self.corner.show(self._left())

    def _note(self, report: pytest.TestReport, facts: Mapping[str, Any]) -> None:
        empty = {"kind": "-", "tightness": None, "margin": None, "twins": "-", "recorded": None, "verdict": "ERROR"}
        row = self.rows.get(facts["id"], {"passed": True})
        row = {**empty, **facts, "passed": row["passed"] and not report.failed}
        if report.failed and report.when != "call" and facts.get("verdict") != "UNDECIDED":
            row["verdict"] = "ERROR"  # it could not be set up or cleaned away, whatever was decided
        self.rows[facts["id"]] = {**row, "seconds": self.seconds[report.nodeid]}

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Keep how long everything took, and write the table."""
        if self.corner is not None:
            self.corner.clear()
        cache = getattr(self.config, "cache", None)
        if self.rows and cache is not None:
            cache.set(self._key, {**self._cached(), **{name: round(took, 3) for name, took in self.seconds.items()}})
        if given(self.config, "table") is not None and not self.config.option.collectonly:
            self.trouble = self._write()
            if self.trouble and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _write(self) -> str | None:
        """Write the table and return what prevented it."""
        path = self.config.invocation_params.dir / given(self.config, "table")
        if not self.rows:
            return f"--table {path.name}: not written, since no claim was decided"
        from theory.evidence.board import write_table  # noqa: PLC0415

        try:
            write_table(path, [*self.rows.values()], scale=given(self.config, "scale"), root=given(self.config, "root"))
        except OSError as error:
            return f"--table {path.name}: not written: {error.strerror}"
        return None

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """Close with what is to be said of single claims, the table of verdicts and the totals."""
        if self.rows:
            scale, root = given(self.config, "scale"), given(self.config, "root")
            terminalreporter.section(f"theorems (scale {scale}, root {root})")
            for line in self._remarks():
                terminalreporter.write(f"{line}\n")
            from theory.evidence.board import verdict_table  # noqa: PLC0415

            colour = bool(terminalreporter.hasmarkup)
            terminalreporter.write(verdict_table([*self.rows.values()], colour=colour, width=_width(terminalreporter)))
        if self.trouble:
            terminalreporter.write_line(self.trouble, red=True)

    def _remarks(self) -> Iterator[str]:
        """Yield what is to be said of single claims."""
        rows = sorted(self.rows.values(), key=lambda row: str(row["id"]))
        yield from (f"{row['id']}, case {row['case']}" for row in rows if "case" in row and row["passed"])
        for data in sorted({row["data"] for row in rows if "data" in row}):
            used = ", ".join(row["id"] for row in rows if row.get("data") == data)
            yield f"decided on {data}, so not compared with their records: {used}"
        loose = ", ".join(row["id"] for row in rows if row["recorded"] == "no")
        if loose:
            yield f"no record, so nothing was compared (--record writes it): {loose}"


def _names_a_claim(nodeid: str) -> bool:
    """Tell a claim from a plain test, whose name has no dot, and from a doctest, whose name has that of its module."""
    path, _, name = nodeid.partition("::")
    return name.count(".") == 1 and name.replace("-", "").replace(".", "").isalnum() and Path(path).stem not in name


def _width(reporter: TerminalReporter) -> int | None:
    """Return the width of the terminal; a log has none, unless COLUMNS says so."""
    if reporter.isatty or os.environ.get("COLUMNS", "").isdigit():
        return int(reporter._tw.fullwidth)  # noqa: SLF001  pytest has no public name for it
    return None
