"""What produced a number: enough to rerun it, nothing that changes from one run to the next."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import theory

_PACKAGES = ("numpy", "scipy", "numba", "finufft", "POT", "sympy", "python-flint")
_INSTRUMENT = ("attention", "distance", "engine", "evidence", "maxent", "lipschitz", "particles", "diffusion", "metric")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@cache
def sources() -> str:
    """Return the fingerprint of the instrument: sha256 over the rooms that measure and judge."""
    root = Path(theory.__file__).parent
    digest = hashlib.sha256()
    rooms = [path for room in _INSTRUMENT for path in (root / room).rglob("*.py")]
    for path in sorted([root / "_validate.py", *rooms]):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def provenance(backend: str) -> dict[str, str | None]:
    """Return the versions, the machine's architecture, the backend and the fingerprint of the sources."""
    return {
        "suite": theory.__version__,
        "sources": sources()[:16],
        "backend": backend,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        **{name.lower(): _version(name) for name in _PACKAGES},
    }
