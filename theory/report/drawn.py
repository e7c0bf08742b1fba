"""Which claims are drawn in which figure, as the committed list of figures says, without what draws them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from theory.report.archive import ArchiveError

LIST = "manifest.json"


def figures_folder(evidence: Path) -> Path:
    """Return the folder of the figures: beside the folder that the records lie in. A wheel has none."""
    return evidence.resolve().parent.parent / "figures"


def read_figures(evidence: Path, known: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the claims of each figure, by the name of the figure; nothing where there are no figures.

    Parameters
    ----------
    evidence : Path
        The folder of the records.
    known : collection of str
        The claims that there are; the list has patterns of them.

    Raises
    ------
    ArchiveError
        If the list of figures cannot be read.
    """
    path = figures_folder(evidence) / LIST
    if not path.is_file():
        return {}
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        return {
            name: tuple(claim for claim in known if any(fnmatchcase(claim, pattern) for pattern in entry["claims"]))
            for name, entry in sorted(entries.items())
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ArchiveError(f"{path}: expected the list of figures: {error!r}") from error


def drawn_in(figures: Mapping[str, Collection[str]], claim: str, total: int) -> list[str]:
    """Return the figures of one claim; a figure of all claims, of which there are ``total``, says nothing of one.

    Examples
    --------
    >>> drawn_in({"all": ["sums.half", "sums.two"], "sums": ["sums.two"]}, "sums.two", 2)
    ['sums']
    """
    return [name for name, claims in figures.items() if claim in claims and len(claims) < total]
