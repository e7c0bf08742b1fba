"""What the printed proofs say: which claims have one, what it uses, who has read it, what Coq checks of it.

Nothing is typed by hand: a proof uses the claims and lemmas that its part *Proof* names, and is refereed if
``proofs/refereed.csv`` lists it, which a test holds against what was read.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from theory.report import formal

LEVELS = (
    "none",
    "printed",
    "refereed",
    "formal in part",
    "formal",
)  # what a proof has behind it, each more than the last

_PART = " (in part)"  # of theory.report.formal
_SECTION = re.compile(r"^## (\S+)\n((?:(?!## ).*\n?)*)", re.MULTILINE)
_PLACE = re.compile(r"^- ((?:`[^`]+`,\s+)*`[^`]+`):\s+\w", re.MULTILINE)
_PROOF = re.compile(r"^\*\*Proof\.\*\*((?:(?!^\*\*).*\n?)*)", re.MULTILINE)
_LINK = re.compile(r"\[`?([^\]`]+)`?\]\([^)]*\)")
_FULL = re.compile(r"([a-z][a-z0-9-]*)\.[a-z0-9-]+")
_SHORT = re.compile(r"\.[a-z0-9-]+")
_LEFT_OPEN = re.compile(r"[^.]*\bas open as\b[^.]*`[^`]*`[^.]*\.")  # what a proof does not use, nor prove


@dataclass(frozen=True, slots=True)
class Proof:
    """The printed proof of a claim: its file, the claims and lemmas that it uses, and how it was checked.

    Parameters
    ----------
    file : str
        The stem of the file in ``proofs``.
    uses, lemmas : tuple of str
        Claims and shared lemmas that the proof names.
    refereed : bool
        Whether somebody who did not write it has derived it again.
    formal : str
        The theorems of Coq about the claim, or nothing.
    place : str
        The stem of the file that lists the claim as measured only, or nothing.
    """

    file: str
    uses: tuple[str, ...]
    lemmas: tuple[str, ...]
    refereed: bool
    formal: str
    place: str = ""

    @property
    def level(self) -> str:
        """What is behind it, one of ``LEVELS``."""
        if self.formal:
            return self.theorems[0][0]
        return "refereed" if self.refereed else "printed" if self.file else "none"

    @property
    def printed(self) -> str:
        """Whether there is a printed proof, and a referee of it, or a place that says that there is no theorem."""
        if not self.file:
            return "no theorem: measured only" if self.place else "no printed proof"
        return "proof refereed" if self.refereed else "proof printed"

    @property
    def theorems(self) -> list[tuple[str, list[str]]]:
        """The theorems of Coq: those that say what the claim says, and those that say less."""
        names = self.formal.split(", ") if self.formal else []
        part = [name.removesuffix(_PART) for name in names if name.endswith(_PART)]
        whole = [name for name in names if not name.endswith(_PART)]
        return [(said, some) for said, some in (("formal", whole), ("formal in part", part)) if some]


NONE = Proof("", (), (), refereed=False, formal="")


def read_proofs(evidence: Path, known: Collection[str]) -> dict[str, Proof]:
    """Return the proofs beside a folder of records, by claim; those of a claim without either are not listed.

    Parameters
    ----------
    evidence : Path
        The records; ``proofs`` is looked for beside the folder that they lie in. A wheel has none.
    known : collection of str
        The claims that there are.
    """
    folder = evidence.resolve().parent.parent / "proofs"
    read = _refereed(folder / "refereed.csv")
    checked = formal.marks(evidence)
    found = {name: Proof("", (), (), refereed=False, formal=theorems) for name, theorems in checked.items()}
    for path in sorted(folder.glob("*.md")):
        whole = path.read_text(encoding="utf-8")
        for name in places(whole):
            found[name] = Proof("", (), (), refereed=False, formal=checked.get(name, ""), place=path.stem)
        for heading, body in _SECTION.findall(whole):
            if heading in known:
                text = " ".join(_PROOF.findall(body))
                uses, lemmas = used_in(text, known)
                uses = tuple(name for name in uses if name != heading)
                found[heading] = Proof(path.stem, uses, lemmas, heading in read, checked.get(heading, ""))
    return {name: found[name] for name in known if name in found}


def places(text: str) -> list[str]:
    r"""Return the claims that the head of a file lists as measured only: an item names some and says what is measured.

    Examples
    --------
    >>> places("# arms: gains\n\n- `arms.moons-block`, `arms.digits-block`: scores.\n\n## arms.one\n")
    ['arms.moons-block', 'arms.digits-block']
    """
    head = re.split(r"^## ", text, maxsplit=1, flags=re.MULTILINE)[0]
    return [name for item in _PLACE.findall(head) for name in re.findall(r"`([^`]+)`", item)]


def used_in(text: str, known: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the claims and the lemmas that the text of a proof names, in their order.

    Examples
    --------
    >>> used_in("By [lemma-lse](lemmas.md#lemma-lse) and `markov.rows`.", {"markov.rows"})
    (('markov.rows',), ('lemma-lse',))
    """
    text = _LEFT_OPEN.sub("", text)
    labels = _LINK.findall(text)
    named = dict.fromkeys([*(label for label in labels if label in known), *claims_in(text, known)])
    order = sorted(
        named, key=lambda name: min(k for k in (text.find(name), text.find(name[name.index(".") :])) if k >= 0)
    )
    return tuple(order), tuple(dict.fromkeys(label for label in labels if label.startswith("lemma-")))


def used_by(proofs: Mapping[str, Proof]) -> dict[str, tuple[str, ...]]:
    """Return for each claim the claims whose proofs use it."""
    found: dict[str, list[str]] = {}
    for name, proof in proofs.items():
        for other in proof.uses:
            found.setdefault(other, []).append(name)
    return {name: tuple(names) for name, names in found.items()}


def claims_in(text: str, known: Collection[str]) -> list[str]:
    """Return the claims that a text names between backquotes, in order; ``.name`` has the subject of the one before.

    Examples
    --------
    >>> claims_in("`markov.rows`, `.causal` and `numpy.sum`", {"markov.rows", "markov.causal"})
    ['markov.rows', 'markov.causal']
    """
    named = resolve(re.findall(r"`([^`\n]+)`", text), known)
    return list(dict.fromkeys(claim for claim in named if claim is not None))


def resolve(spans: list[str], known: Collection[str]) -> list[str | None]:
    """Return the claim that each piece of code names, or nothing."""
    subject = ""
    found: list[str | None] = []
    for span in spans:
        if (full := _FULL.fullmatch(span)) is not None:
            subject = full[1]
        name = f"{subject}{span}" if _SHORT.fullmatch(span) else span
        found.append(name if name in known else None)
    return found


def _refereed(path: Path) -> set[str]:
    if not path.is_file():
        return set()
    with path.open(newline="", encoding="utf-8") as file:
        return {row["claim"] for row in csv.DictReader(file)}
