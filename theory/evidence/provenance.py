"""What produced a number: enough to rerun it, nothing that changes from one run to the next."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

import theory
from theory.evidence.closure import Closure

_PACKAGES = ("numpy", "scipy", "numba", "finufft", "POT", "sympy", "python-flint", "threadpoolctl")


def provenance(backend: str, closure: Closure | None = None, root: Path | None = None) -> dict[str, str | None]:
    """Return what one entry of a record says of its making.

    Parameters
    ----------
    backend : str
        What computed attention.
    closure : Closure, optional
        The files that decide the claim.
    root : Path, optional
        The folder from which they are named.

    Returns
    -------
    dict
        Versions, processor, linear algebra, backend, the commit that was checked out (with ``+`` behind it where a
        file of the closure was changed since) and the closure's fingerprint; ``None`` for what is not known.
    """
    return {
        "suite": theory.__version__,
        "commit": None if closure is None or root is None else commit(root, tuple(sorted(closure.files))),
        "closure": None if closure is None else closure.fingerprint,
        "backend": backend,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "vectors": vectors(),
        "kernels_for": os.environ.get("NUMBA_CPU_NAME"),
        "blas": blas(),
        **{name.lower(): _version(name) for name in _PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@cache
def processor() -> str:
    """Return the name by which the processor calls itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # no Linux
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


@cache
def vectors() -> str:
    """Return the vector extensions that NumPy computes with here: those it was built for, and those it found."""
    simd = np.show_config("dicts").get("SIMD Extensions", {})
    return " ".join([*simd.get("baseline", ()), *simd.get("found", ())])


@cache
def blas() -> str | None:
    """Return NumPy's linear algebra: library, version and the processor for which its kernels are."""
    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    own = [library for library in found if "numpy" in Path(library["filepath"]).parent.name] or found
    if not own:
        return None
    return " ".join(str(own[0][key]) for key in ("internal_api", "version", "architecture") if own[0].get(key))


def commit(root: Path, files: tuple[str, ...]) -> str | None:
    """Return the commit that is checked out in ``root``, ``+`` behind it if one of these files differs from it."""
    head = _git(root, "rev-parse", "--short=12", "HEAD")
    if head is None:
        return None
    changed = _changed(root)
    return head.decode().strip() + ("+" if changed is None or changed & set(files) else "")


def _changed(root: Path) -> frozenset[str] | None:
    """Return the files below ``root`` that differ from the commit or are not in it, by their names from ``root``."""
    told = _git(root, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--", ".")
    above = _git(root, "rev-parse", "--show-prefix")
    if told is None or above is None:
        return None
    return frozenset(_text(line[3:]).removeprefix(_text(above.strip())) for line in told.split(b"\0") if line)


def differing(root: Path, commit: str) -> frozenset[str] | None:
    """Return the files below ``root`` that differ from a commit, by their names from there, if the commit is known."""
    told = _git(root, "diff", "--name-only", "--no-renames", "--relative", "-z", commit, "--", ".")
    changed = _changed(root)
    return None if told is None or changed is None else changed | {_text(name) for name in told.split(b"\0") if name}


def stored(root: Path, commit: str, name: str) -> bytes | None:
    """Return what a file was at a commit, ``None`` if it was not there."""
    return _git(root, "show", f"{commit}:./{name}")


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


@cache
def _git(root: Path, *arguments: str) -> bytes | None:
    """Return what git says in a folder, asked once a process; ``None`` without git or outside of a repository."""
    try:
        done = subprocess.run(  # noqa: S603  the words are the suite's own
            ["git", "-C", str(root), *arguments],  # noqa: S607  whichever git the user has
            capture_output=True, check=True, timeout=60, env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout
