"""A claim as a check states it: a key of a source may come with the place in it, which is written beside the record.

This decides nothing, so no evidence grows old with it: with its place a key is still the key, to the seal of a record
and to whoever compares it.
"""

from __future__ import annotations

from theory.evidence import claim as stated


class Source(str):
    """The key of a source that knows a place there, such as the number of a theorem."""

    place: str

    def __new__(cls, key: str, place: str) -> Source:
        """Return the key, with a place."""
        made = super().__new__(cls, key)
        made.place = place
        return made

    def __reduce__(self) -> tuple[type[Source], tuple[str, str]]:
        """Return what a copy is made of."""
        return Source, (str(self), self.place)


class Claim(stated.Claim):
    """A theorem as it is decided here.

    Parameters
    ----------
    id : str
        ``subject.name`` in lower case; keys the evidence, the random streams and the citation.
    words : str
        The statement in one plain line, for the closing table.
    statement : str
        The statement in TeX.
    remark : str, default ""
        What is said besides, in TeX: where it is attained, what it does not say, how the parts hang together.
    assumptions : tuple of str
        Every hypothesis.
    spec : tuple of str
        Labels, in this suite's own list of statements, of what this claim decides, such as ``MA.L6``.
    cites : tuple of str, or of pairs of str
        Keys of the sources in ``paper_notes.md``; one whose text was read may come with the place in it, as in
        ``("ruan2024", "Theorem 3")``, which ``--record`` writes into ``locators.csv`` beside the folder of the records.
    source_status : tuple of str
        Where the wording comes from: any of ``SOURCE_STATUS``.
    finds : tuple of Verdict
        What comes out and is a result: support, unless an open question is stated as a claim. Never ``VACUOUS``.

    Raises
    ------
    ValueError
        If a field is malformed.
    """

    __slots__ = ()

    def __post_init__(self) -> None:
        if isinstance(self.cites, tuple):
            object.__setattr__(self, "cites", tuple(_located(item, self.id) for item in self.cites))
        stated.Claim.__post_init__(self)


def _located(item: object, claim: str) -> object:
    """Return a key as it is, and a pair of a key and a place as one."""
    if not isinstance(item, tuple):
        return item
    if len(item) != 2 or not all(isinstance(text, str) and text.strip() for text in item) or set("[]{}") & set(item[1]):
        raise ValueError(f"cites: expected a key and a place without brackets for {claim}, got {item!r}")
    return Source(*item)
