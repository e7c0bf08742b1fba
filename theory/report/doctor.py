"""What a report of a fault needs: what this machine computes with, and whether a dozen claims come out as recorded.

The claims are one of every room and those that a processor or a library moved before. They are decided by pytest in a
process of its own, as ``pytest verify/`` decides them. No path is shown but that of the compiled kernels.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, entry_points, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from theory.evidence.provenance import commit, differing, provenance
from theory.report.archive import ArchiveError, Record, find
from theory.report.citation import SUITE
from theory.report.locations import evidence_folders

CLAIMS = (
    "markov.rows", "transport.empirical", "maxent.gibbs", "softmax.temperature", "entmax.steepest",
    "lipschitz.two-tokens", "solvable.radius", "noisy.threshold", "limit.tokens", "metric.gradient", "distance.line",
    "engine.exponential",
)  # fmt: skip
_SWITCHES = re.compile(r"(NUMBA|OPENBLAS|MKL|BLIS|OMP|NPY|THEORY)_(?!CACHE)")
_BESIDE = ("llvmlite", "pytest")  # packages that no requirement names and results or verdicts depend on
_LAST = 20  # chosen: lines of pytest's that say why it decided nothing
_NAME = 11  # the widest label and two blanks


def describe_machine(*, backend: str, target: str, threads: int, cache: str) -> str:
    """Return what this machine computes with, a labelled line each.

    Parameters
    ----------
    backend, target, threads, cache : str, str, int, str
        What the engine says of itself: how it computes, the processor that it compiles for, how many threads a call
        may use, and where the compiled kernels lie.
    """
    import scipy.linalg  # noqa: F401, PLC0415  loads the BLAS that it brings
    from threadpoolctl import threadpool_info  # noqa: PLC0415

    about = provenance(backend)
    lines = [
        ("suite", f"{about['suite']}, {_commit()}"),
        ("python", f"{about['python']} on {about['machine']}"),
        ("processor", about["processor"]),
        ("threads", f"{threads} of {os.cpu_count()} processors"),
        ("vectors", f"NumPy {about['vectors']}; kernels {target}"),
        *(("blas" if pool["user_api"] == "blas" else "pool", _library(pool)) for pool in threadpool_info()),
        ("backend", backend),
        ("kernels", cache.replace(str(Path.home()), "~")),
        ("packages", ", ".join(f"{name} {_version(name)}" for name in _packages())),
        ("switches", ", ".join(f"{k}={v}" for k, v in sorted(os.environ.items()) if _SWITCHES.match(k)) or "none"),
    ]
    return "".join(f"{name:<{_NAME}}{text}\n" for name, text in lines)


def _commit() -> str:
    """Say which commit is checked out, and whether a file differs from it."""
    root = _checkout()
    head = None if root is None else commit(root, ())
    if root is None or head is None:
        return "no commit known"
    return f"commit {head}{', with changes' if differing(root, head) else ''}"


def _library(pool: Mapping[str, Any]) -> str:
    kernel = f", kernel {pool['architecture']}" if "architecture" in pool else ""
    return f"{pool['internal_api']} {pool['version']} ({pool['prefix']}){kernel}, {pool['num_threads']} threads"


def _packages() -> Iterator[str]:
    """Yield what the package requires, without its extras, and what stands behind."""
    try:
        required = requires(SUITE) or []
    except PackageNotFoundError:  # it runs from a folder, without being installed
        required = ["numpy", "scipy", "numba"]
    for line in required:
        if "extra ==" not in line:
            yield re.split(r"[^\w.-]", line, maxsplit=1)[0]
    yield from _BESIDE


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def check_verdicts() -> tuple[str, int]:
    """Decide the claims; return a line for each, and the status of the command.

    Returns
    -------
    tuple of str and int
        Status 0 if every claim comes out as recorded, 1 if one does not, 2 if none can be decided here.
    """
    root = _checkout()
    if root is None:
        return "no verdicts: verify/ is not at hand; a clone or the source distribution has it\n", 2
    if find_spec("pytest") is None:
        return f'no verdicts: pytest is not installed (pip install "{SUITE}[test]")\n', 2
    records, said = {}, {}
    for claim in CLAIMS:
        try:
            records[claim] = find(root / "verify" / "evidence", claim)
        except ArchiveError as error:
            said[claim] = f"NO GOOD RECORD: {error}"
    seconds, faults, output = _run_pytest(root, records)
    for claim, record in records.items():
        fault = faults.get(claim) if claim in seconds else "pytest did not decide it"
        entry = record.entries.get("quick")
        if fault is not None:
            said[claim] = f"NOT AS RECORDED: {fault}"
        elif entry is None:
            said[claim] = "NO GOOD RECORD: none at scale quick"
        else:
            said[claim] = f"{record.describe(entry)}, as recorded, {seconds[claim]:.2f} s"
    bad = sum(text.startswith("NO") for text in said.values())
    wide = max(map(len, CLAIMS)) + 2
    text = "".join(f"{claim:<{wide}}{said[claim]}\n" for claim in CLAIMS)
    text += f"{len(CLAIMS) - bad} of {len(CLAIMS)} claims as recorded\n"
    if len(seconds) < len(records):
        text += "\n".join(["", "pytest said:", *output.splitlines()[-_LAST:], ""])
    return _without_paths(text, root), int(bad > 0)


def _checkout() -> Path | None:
    """Return where the suite lies with the tests that decide it: around the working directory, or the package."""
    try:
        folders = evidence_folders()
    except ArchiveError:
        return None
    roots = (folder.parent.parent for folder in folders if (folder / f"{CLAIMS[0]}.json").is_file())
    return next((root for root in roots if (root / "verify" / "conftest.py").is_file()), None)


def _run_pytest(root: Path, records: Mapping[str, Record]) -> tuple[dict[str, float], dict[str, str], str]:
    """Return the seconds of every claim that was reached, what is wrong with those that fail, and all that was said."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "verdicts.xml"
        # options of the user's own, such as --record, have no part in this
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        plugin = [] if entry_points(group="pytest11", name=SUITE) else ["-p", "theory.evidence.plugin"]
        options = ["-q", "-p", "no:cacheprovider", "--continue-on-collection-errors", f"--junitxml={file}"]
        nodes = [f"{record.test}::{claim}" for claim, record in records.items()]
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "pytest", *plugin, *options, *nodes],
            cwd=root, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            encoding="utf-8", errors="replace", check=False,
        )  # fmt: skip
        # what pytest wrote a moment ago
        cases = ET.parse(file).getroot().iter("testcase") if file.exists() else ()  # noqa: S314
        found = {case.get("name", ""): case for case in cases}
    seconds, faults = {}, {}
    for claim in records:
        if claim in found:
            seconds[claim] = float(found[claim].get("time", "nan"))
            wrong = next((part for part in found[claim] if part.tag in ("failure", "error", "skipped")), None)
            if wrong is not None:
                faults[claim] = " ".join(wrong.get("message", wrong.tag).split())
    return seconds, faults, done.stdout


def _without_paths(text: str, root: Path) -> str:
    return text.replace(f"{root}{os.sep}", "").replace(str(Path.home()), "~")
