"""Which claims a reader asks for: by subject, kind, verdict, source, label, figure, words and patterns."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from theory.report.archive import ArchiveError, Record
from theory.report.proofs import NONE, Proof
from theory.report.search import ranked


def select(
    records: Sequence[Record],
    *,
    subject: str | None = None,
    kind: str | None = None,
    verdict: str | None = None,
    source: str | None = None,
    label: str | None = None,
    figure: str | None = None,
    figures: Mapping[str, Collection[str]] | None = None,
    proof: str | None = None,
    proofs: Mapping[str, Proof] | None = None,
    words: Sequence[str] = (),
) -> list[Record]:
    """Return the records that agree with all that is given; where there are words, those that they fit best first.

    Parameters
    ----------
    records : sequence of Record
        Among which.
    subject, kind, verdict, source, label : str, optional
        What a claim is about, how its intervals were obtained, what became of it, what it cites, its label.
    figure : str, optional
        In which figure a claim is drawn.
    figures : mapping, optional
        The claims of each figure.
    proof : str, optional
        What is behind the proof of a claim, one of ``theory.report.proofs.LEVELS``.
    proofs : mapping, optional
        The printed proofs, by claim.
    words : sequence of str
        What is looked for as :func:`theory.report.search.ranked` does, with synonyms and typing errors; below it stand
        claims in whose id, words, statement or hypotheses every word is a piece of the text. A word with ``*`` or
        ``?`` is a pattern of ids; of several patterns one has to match.

    Raises
    ------
    ArchiveError
        If no claim at all has this subject, source or label, or there is no such figure.
    """
    _know("--subject", subject, {record.subject for record in records})
    _know("--source", source, {key for record in records for key in record.claim.cites})
    _know("--label", label, {item for record in records for item in record.claim.spec})
    drawn = figures or {}
    _know("--figure", figure, drawn)
    return [
        record
        for record in _said(records, words)
        if subject in (None, record.subject)
        and kind in (None, record.best.kind.name.lower())
        and verdict in (None, record.best.verdict.value)
        and (source is None or source in record.claim.cites)
        and (label is None or label in record.claim.spec)
        and (figure is None or record.claim.id in drawn[figure])
        and proof in (None, (proofs or {}).get(record.claim.id, NONE).level)
    ]


def _know(option: str, value: str | None, known: Iterable[str]) -> None:
    if value is not None and value not in (names := sorted(known)):
        raise ArchiveError(f"{option}: expected one of {', '.join(names) or 'none'}, got {value}")


def _said(records: Sequence[Record], words: Sequence[str]) -> list[Record]:
    """Return the records that words and patterns mean, the best first."""
    patterns = [word for word in words if is_pattern(word)]
    plain = [word for word in words if not is_pattern(word)]
    like = [r for r in records if not patterns or any(fnmatchcase(r.claim.id, pattern) for pattern in patterns)]
    if not plain:
        return like
    order = {claim: k for k, claim in enumerate(ranked(records, " ".join(plain)))}
    found = [r for r in like if r.claim.id in order or _says(r, plain)]
    return sorted(found, key=lambda r: order.get(r.claim.id, len(order)))


def _says(record: Record, words: Sequence[str]) -> bool:
    claim = record.claim
    text = " ".join([claim.id, claim.words, claim.statement, *claim.assumptions]).casefold()
    return all(word.casefold() in text for word in words)


def is_pattern(name: str) -> bool:
    """Tell whether a name stands for all that are like it; brackets do not, since statements have them."""
    return "*" in name or "?" in name


def ids_of(records: Sequence[Record], names: Sequence[str]) -> list[str]:
    """Return the claims that are meant: by an id, a label that several may have, or a pattern of ids or labels.

    Raises
    ------
    ArchiveError
        If nothing is like a pattern.

    Examples
    --------
    >>> ids_of([], ["markov.rows"])
    ['markov.rows']
    """
    labelled: dict[str, list[str]] = {}
    for record in records:
        for label in record.claim.spec:
            labelled.setdefault(label, []).append(record.claim.id)
    named = {record.claim.id: [record.claim.id] for record in records} | labelled
    found: dict[str, None] = {}
    for name in names:
        alike = [one for one in named if fnmatchcase(one, name)] if is_pattern(name) else [name]
        if not alike:
            raise ArchiveError(f"{name}: expected a pattern of ids or labels of {len(records)} claims, got one of none")
        found |= dict.fromkeys(claim for one in alike for claim in named.get(one, [one]))
    return list(found)


def as_json(records: Sequence[Record], proofs: Mapping[str, Proof] | None = None) -> str:
    """Return what `list` shows, and how a claim is found and cited, as JSON."""
    rows = [
        {
            "id": record.claim.id,
            "words": record.claim.words,
            "verdict": record.describe(record.best),
            "kind": record.best.kind.name.lower(),
            "scale": record.best.scale,
            "labels": list(record.claim.spec),
            "sources": list(record.claim.cites),
            "proof": (proofs or {}).get(record.claim.id, NONE).level,
            "uses": list((proofs or {}).get(record.claim.id, NONE).uses),
        }
        for record in records
    ]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
