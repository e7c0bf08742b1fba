r"""How a claim is cited: BibTeX of its sources and of this suite, and one line of LaTeX with certified digits only.

The line states the verdict, its kind, the number of cases, the largest departure that the data still allow (rounded
up) and the gap by which the nearest twin fails (rounded down). Departures are in units of the scale that the check
gives its relation, the claimed value itself unless it may vanish. Everything comes from the committed record.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution, metadata
from pathlib import Path

import theory
from theory.evidence.judge import Verdict
from theory.report.archive import ArchiveError, Entry, Record
from theory.report.digits import at_least, at_most
from theory.report.notes import read_notes

SUITE = "attention-theory"  # the name of the distribution, and its BibTeX key

_CITATION = "CITATION.cff"
_ADDRESSES = ("url", "repository-code")  # the first that it has
_ARXIV_DOI = "10.48550/arXiv."  # with the number of a paper: the DOI that arXiv gives it
_FENCE = re.compile(r"^```bibtex\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"@(\w+)\{([^\s,{}]+),")
_ESCAPED = {c: rf"\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$",
    "|": "$|$", '"': "''",
}  # fmt: skip


def bibliography(notes: Path) -> dict[str, str]:
    """Return the BibTeX entries in the fenced blocks of ``notes`` and of the files that they lead to, by key.

    Raises
    ------
    ArchiveError
        If the file is unreadable, a brace stays open, or a key occurs twice.
    """
    try:
        text = read_notes(notes)
    except (OSError, UnicodeDecodeError) as error:
        raise ArchiveError(f"{notes}: expected the notes with the sources: {error}") from error
    known: dict[str, str] = {}
    for block in _FENCE.findall(text):
        for start in _ENTRY.finditer(block):
            key = start.group(2)
            if key in known:
                raise ArchiveError(f"{notes}: expected the BibTeX key {key} once, found it twice")
            known[key] = addressed(_read_entry(block[start.start() :], f"{notes}: {key}"))
    return known


def _read_entry(text: str, where: str) -> str:
    depth = 0
    for place, character in enumerate(text):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "}" and depth == 0:
            return text[: place + 1]
    raise ArchiveError(f"{where}: expected a BibTeX entry with balanced braces, got one that stays open")


def suite_bibtex() -> str:
    """Return the BibTeX entry of this suite; its version is ``theory.__version__``, the rest package metadata.

    The year is that of ``date-released`` in ``CITATION.cff``; of a version that has no date, the year of its copyright.
    The address is that of ``CITATION.cff``, if it has one.
    """
    try:
        about, license_text = metadata(SUITE), distribution(SUITE).read_text("licenses/LICENSE") or ""
    except PackageNotFoundError as error:
        raise ArchiveError(f"{SUITE}: expected an installed package, found none (pip install -e .)") from error
    title = about["Summary"].rstrip(".")
    return (
        f"@misc{{{SUITE},\n"
        f"  author  = {{{{{about['Author']}}}}},\n"
        f"  title   = {{{{{SUITE}}}: {title}}},\n"
        + "".join(f"  {name:<7} = {{{value}}},\n" for name, value in dated(_citation_file(), license_text).items())
        + f"  version = {{{theory.__version__}}},\n"
        f"  note    = {{Software, version {theory.__version__}}},\n"
        "}"
    )


def _citation_file() -> str:
    """Return the text of ``CITATION.cff`` of the checkout that the package is in, or of the one that came with it."""
    root = Path(theory.__file__).resolve().parent
    known = (path for path in (root / "_record" / _CITATION, root.parent / _CITATION) if path.is_file())
    return next((path.read_text(encoding="utf-8") for path in known), "")


def dated(citation: str, license_text: str) -> dict[str, str]:
    r"""Return year and address of a suite, as far as they are known, from its ``CITATION.cff`` and its license.

    Examples
    --------
    >>> dated("date-released: 2027-01-31\nurl: https://example.org/suite\n", "Copyright (c) 2026 Somebody")
    {'year': '2027', 'url': 'https://example.org/suite'}
    >>> dated("version: 0.1.0\n", "Copyright (c) 2026 Somebody")
    {'year': '2026'}
    """
    released = re.search(r"^date-released:\s*[\"']?(\d{4})-", citation, re.MULTILINE)
    year = released or re.search(r"^Copyright \(c\) (?:\d{4}-)?(\d{4})\b", license_text, re.MULTILINE)
    found = {field: re.search(rf"^{field}:\s*[\"']?([^\s\"']+)", citation, re.MULTILINE) for field in _ADDRESSES}
    address = next((match[1] for match in found.values() if match), None)
    return ({"year": year[1]} if year else {}) | ({"url": address} if address else {})


def entries(records: Sequence[Record], notes: Path | None, *, whole: bool = False) -> list[str]:
    """Return the BibTeX of the sources of claims, each once, which need notes if there are any, and of this suite.

    Parameters
    ----------
    records : sequence of Record
        The claims.
    notes : Path or None
        The file with the sources.
    whole : bool
        Whether all sources of the notes are wanted, those of methods too.

    Raises
    ------
    ArchiveError
        If a source of a claim is not among the notes.
    """
    cited = list(dict.fromkeys(key for record in records for key in record.claim.cites))
    known = bibliography(notes) if cited and notes is not None else {}
    if missing := [key for key in cited if key not in known]:
        citing = ", ".join(record.claim.id for record in records if set(missing) & set(record.claim.cites))
        raise ArchiveError(f"{notes}: expected the sources of {citing}, found no BibTeX of {', '.join(missing)}")
    return [*(known[key] for key in (known if whole else cited)), suite_bibtex()]


def bibtex(record: Record, notes: Path | None) -> str:
    """Return the BibTeX of the sources of one claim; arguments and errors as those of :func:`entries`."""
    return "\n\n".join(entries([record], notes))


def addressed(entry: str) -> str:
    r"""Return an entry with the fields by which it is found, from its DOI or its note.

    What is on arXiv and has no other DOI has that of arXiv.

    Examples
    --------
    >>> print(addressed("@misc{a2020,\n  note = {arXiv:2001.00001},\n}"))
    @misc{a2020,
      note = {arXiv:2001.00001},
      eprint = {2001.00001},
      archiveprefix = {arXiv},
      doi = {10.48550/arXiv.2001.00001},
      url = {https://arxiv.org/abs/2001.00001},
    }
    """
    given = {name.lower() for name in re.findall(r"^\s*(\w+)\s*=", entry, re.MULTILINE)}
    doi = re.search(r"^\s*doi\s*=\s*\{([^}]*)\}", entry, re.MULTILINE)
    arxiv = re.search(r"(?:arXiv:\s*|^\s*eprint\s*=\s*\{)([0-9]{4}\.[0-9]{4,5}|[a-z.-]+/[0-9]{7})", entry, re.MULTILINE)
    more = {}
    if arxiv is not None:
        more = {"eprint": arxiv[1], "archiveprefix": "arXiv", "doi": f"{_ARXIV_DOI}{arxiv[1]}"}
        more["url"] = f"https://arxiv.org/abs/{arxiv[1]}"
    if doi is not None:
        more["url"] = f"https://doi.org/{doi[1]}"
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in more.items() if name not in given)
    body = entry.rstrip().removesuffix("}").rstrip()
    return f"{body}{'' if body.endswith(',') else ','}\n{lines}}}" if lines else entry


def escape_latex(text: str) -> str:
    r"""Return plain text as LaTeX sets it.

    Examples
    --------
    >>> print(escape_latex("mean_x & 100%"))
    mean\_x \& 100\%
    """
    return "".join(_ESCAPED.get(character, character) for character in text)


def latex(record: Record) -> str:
    """Return one line of LaTeX about the claim at its largest scale."""
    entry = record.best
    name = escape_latex(record.claim.id)
    cases = f"{entry.cases} case{'' if entry.cases == 1 else 's'}"
    sources = f", after {cited_latex(record)}," if record.claim.cites else ""
    found = f"{_departure(entry)}{_gap(entry)}{_level(entry)}"
    return (
        rf"Claim \texttt{{{name}}}{sources} is \emph{{{entry.verdict.value}}} by \cite{{{SUITE}}} "
        f"(kind {entry.kind.name.lower()}, {cases}, scale {entry.scale}): {found}."
    )


def cited_latex(record: Record) -> str:
    r"""Return the citations of the sources of a claim: those with a place, one by one, after all others together."""
    plain = [key for key in record.claim.cites if key not in record.locators]
    placed = [rf"\cite[{escape_latex(place)}]{{{key}}}" for key, place in record.locators.items()]
    return ", ".join([rf"\cite{{{','.join(plain)}}}"] * bool(plain) + placed)


def _departure(entry: Entry) -> str:
    lo, hi = entry.departure.lo, entry.departure.hi
    if entry.verdict is Verdict.REFUTED:
        return f"some case departs by at least ${at_least(lo, tex=True)}$"
    if hi > 0.0:
        return f"no departure above ${at_most(hi, tex=True)}$"
    return "no departure" if hi == 0.0 else f"every case keeps a margin of at least ${at_least(-hi, tex=True)}$"


def _gap(entry: Entry) -> str:
    if entry.nearest is None:
        return ", and it has no twin"
    gap = entry.nearest.gap
    name = escape_latex(entry.nearest.twin.breaks)
    if gap <= 0.0:
        return f", but a twin ({name}) is not refuted"
    loose = [escape_latex(name) or "without a name" for name, part in entry.parts.items() if part.gap <= 0.0]
    if loose:
        return f", but no twin refutes the part {', '.join(loose)}"
    return f", while the nearest twin ({name}) fails by at least ${at_least(gap, tex=True)}$"


def _level(entry: Entry) -> str:
    if entry.alpha is None:
        return ""
    return rf" (each at level $1-{_power(entry.alpha)}$)"


def _power(level: float) -> str:
    """Return a level such as 1e-06 as a power of ten."""
    mantissa, exponent = f"{level:e}".split("e")
    return f"10^{{{int(exponent)}}}" if float(mantissa) == 1.0 else rf"{float(mantissa):g}\times10^{{{int(exponent)}}}"
