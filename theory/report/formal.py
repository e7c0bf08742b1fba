"""Theorems that Coq checks: the files of ``proofs/formal``, with a manifest of what they state of which claim.

A comment before a ``Theorem`` names claims: ``Claim: a.b.`` where the theorem says what the claim says or more, ``Part
of: a.b, c.d.`` where it says less. A twin, ``Theorem not_...``, names what it is the twin of: ``Twin of: name, name.``;
a theorem that names a claim has one, or says why not: ``No twin: reason.``. The manifest has the hash of each file, the
statement of each theorem, the axioms under them, the release of Coq and a fingerprint of the words of each claim, so
that neither changes without the other.
A proof is about the statement and the verdict about the instrument; neither turns into the other.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import theory
from theory.evidence.files import write_whole
from theory.report.archive import ArchiveError
from theory.report.locations import suite_folder

AXIOMS = (
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "Classical_Prop.classic",
    "FunctionalExtensionality.functional_extensionality_dep",
)
"""Those of the real numbers of Coq's standard library: no other is used."""

NOT_COVERED = """\
Not covered: code, rounding and records; a theorem is about real numbers. That its definitions mean what claim and
docstring mean is read by people, with the checklist at the head of each file. A claim with a theorem "in part" says
more than the theorem: often other norms, orders or temperatures, measures that are not finite sums, numbers that were
measured. Limits to a continuum and Gaussian integrals are in no file.
"""
MANIFEST = "manifest.json"

_BANNED = ("Admitted", "admit", "give_up", "Axiom", "Axioms", "Parameter", "Parameters", "Conjecture", "bypass_check",
           "Guard", "Positivity", "native_compute", "vm_cast_no_check", "Infix", "Coercion")  # fmt: skip
_LIBRARY = frozenset(
    re.findall(
        r"\S+",
        """
        R INR IZR PI Rplus Rmult Ropp Rminus Rinv Rdiv Rlt Rle Rgt Rge Rabs Rmax Rmin Rsqr Rpower pow powerRZ exp ln
        sqrt sin cos tan sinh cosh tanh asin acos atan Req_EM_T Req_dec Rlt_dec Rle_dec is_lub is_derive Derive
        ex_derive is_RInt RInt is_lim Lim continuous
        Type Prop Set True False not and or iff ex ex2 all eq inhabited bool true false negb andb orb implb nat O option
        Some None unit tt prod pair fst snd sum list List app flat_map In Nat add sub mul size uniq
        finType eqType pred mem_pred injective bijective surjective cancel eq_op is_true addn subn muln expn leq ltn
        modn ltn_pmod ltn0Sn ordinal Ordinal ord0 widen_ord nat_of_ord tag foldr enum index_enum filter bigop big
        """,
    )
)  # that statements may stand on: no file gives one of these names another meaning
_COMMENT = re.compile(r"\(\*(?:(?!\*\)).)*\*\)", re.DOTALL)
_THEOREM = re.compile(r"^Theorem (\w+)(.*?\.)\s+Proof\.", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(r"^(Claim|Part of|Twin of): ([\w., -]+?)\.$", re.MULTILINE)
_NO_TWIN = re.compile(r"^No twin: (.+?)\.$", re.MULTILINE | re.DOTALL)
_DEFINED = re.compile(
    r"\b(?:Definition|(?:Co)?Fixpoint|(?:Co)?Inductive|Variant|Record|Structure|Class|Instance|Let|Lemma|Theorem|Fact"
    r"|Remark|Corollary|Proposition|Example|Canonical|Notation|Ltac|with)\s+([\w']+)"
)
_BUILT = re.compile(r"\b(?:(?:Co)?Inductive|Variant|Record|Structure|Class)\b((?:[^.]|\.(?!\s|$))*)")
_BOUND = re.compile(
    r"\b(?:forall|fun|exists|let|Variables?|Types?|Hypothes[ei]s)\s+((?:[\w']+\s+)*?[\w']+)\s*(?=:|,|=>|\()"
    r"|\(((?:[\w']+\s+)*?[\w']+)\s*:(?!=)"
    r"|\)\s+((?:[\w']+\s+)*?[\w']+)\s*(?=,|:|=>)"
)
_SHOWN_AS = re.compile(r'\b(?:Notation|where)\s+"([^"]*)"')
_SENTENCE = re.compile(
    r"(?:^|\.\s)\s*(?:(?:#\[[^]]*\]|Local|Global|Polymorphic|Monomorphic)\s*)*"
    r"(Section|Module|End|Hypothesis|Hypotheses|Context|Variables?|Theorem)\b((?:[^.]|\.(?!\s|$))*)",
    re.MULTILINE,
)
_GROUP = re.compile(r"([\w' ]+):([^():]*)")
_SHOWN = 6  # chosen: lines of Coq's that say why it rejects a file


@dataclass(frozen=True, slots=True)
class Theorem:
    """A theorem as its file has it: its statement in one line, the claims that it proves, whole or in part, its twins.

    ``twin_of`` names theorems of which this one refutes another version; ``no_twin`` is the reason why it has none.
    """

    file: str
    name: str
    statement: str
    proves: tuple[str, ...]
    part_of: tuple[str, ...]
    twin_of: tuple[str, ...] = ()
    no_twin: str = ""

    @property
    def claims(self) -> tuple[str, ...]:
        """All that it names."""
        return (*self.proves, *self.part_of)


@dataclass(frozen=True, slots=True)
class Source:
    """A file: its text, the files that it needs, and its theorems."""

    name: str
    text: str
    needs: tuple[str, ...]
    theorems: tuple[Theorem, ...]

    @property
    def sha256(self) -> str:
        """The hash of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def formal_folder() -> Path:
    """Return the folder of the files in the checkout that the package is in.

    Raises
    ------
    ArchiveError
        If the package is in none.
    """
    folder = Path(theory.__file__).resolve().parent.parent / "proofs" / "formal"
    if not (folder / MANIFEST).is_file():
        raise ArchiveError(f"prove: expected {folder} with files of Coq, which an installed package does not bring")
    return folder


def read_sources(folder: Path) -> list[Source]:
    """Read the files in an order in which each comes after those that it needs.

    Raises
    ------
    ArchiveError
        If one needs another that is not there, or itself.
    """
    found = {path.stem: _source(path) for path in sorted(folder.glob("*.v"))}
    order: dict[str, Source] = {}

    def add(name: str, above: tuple[str, ...]) -> None:
        if name in above or name not in found:
            raise ArchiveError(f"{folder}: expected files that need each other in an order, got {' -> '.join(above)}")
        if name not in order:
            for need in found[name].needs:
                add(need, (*above, name))
            order[name] = found[name]

    for name in found:
        add(name, ())
    return list(order.values())


def _source(path: Path) -> Source:
    text = path.read_text(encoding="utf-8")
    needs = [
        name for line in re.findall(r"^From Attention Require Import ([^.]+)\.", text, re.M) for name in line.split()
    ]
    theorems = []
    for match in _THEOREM.finditer(text):
        before = [m for m in _COMMENT.finditer(text, 0, match.start()) if not text[m.end() : match.start()].strip()]
        said = re.sub(r"\s*\*\)$", "", re.sub(r"\n\s+", "\n", before[-1].group())).removeprefix("(* ") if before else ""
        named = {kind: tuple(claims.split(", ")) for kind, claims in _NAMED.findall(said)}
        statement = " ".join(_COMMENT.sub(" ", match[2]).split()).removesuffix(".")
        proves, part_of, twin_of = (named.get(kind, ()) for kind in ("Claim", "Part of", "Twin of"))
        reason = _NO_TWIN.search(said)
        no_twin = " ".join(reason[1].split()) if reason else ""
        theorems.append(Theorem(path.stem, match[1], statement, proves, part_of, twin_of, no_twin))
    return Source(path.stem, text, tuple(needs), tuple(theorems))


def faults(sources: Sequence[Source]) -> Iterator[str]:
    """Yield what no file may contain.

    These are axioms, gaps, hypotheses of a section, which a statement does not show, other meanings of names and
    symbols of the libraries, twins that are no negations, and theorems about claims without a twin.
    """
    shown: set[str] = set()
    for source in sources:
        code = _COMMENT.sub(" ", source.text)
        for word in _BANNED:
            if re.search(rf"\b{word}\b", code):
                yield f"{source.name}.v: expected no {word}"
        if len(re.findall(r"^\s*Theorem\b", code, re.MULTILINE)) != len(source.theorems):
            yield f"{source.name}.v: expected every Theorem at the beginning of a line and before its Proof"
        yield from _hidden(source.name, code)
        for name in sorted(_named(code) & _LIBRARY):
            yield f"{source.name}.v: expected {name} to be that of the libraries, got another one"
        for symbol in _SHOWN_AS.findall(code):
            if not symbol.startswith("\\") or symbol.split()[0] in shown:
                yield f"{source.name}.v: expected no other meaning of a symbol, got the Notation {symbol}"
            shown.add(symbol.split()[0])
    yield from _untwinned([t for source in sources for t in source.theorems])


def _hidden(name: str, code: str) -> Iterator[str]:
    hidden: list[bool] = []
    kinds = {"finType", "eqType", "Type", "R", "nat", "bool"}
    for word, rest in _SENTENCE.findall(code):
        if word == "Section":
            hidden.append(False)
        elif word == "Module":
            if ":=" not in rest:
                yield f"{name}.v: expected no Module, got Module{rest}"
        elif word == "End":
            if not hidden:
                yield f"{name}.v: expected a Section before its End, got End{rest}"
            del hidden[-1:]
        elif word.startswith("Variable"):  # of data: a variable of any other type may be a hypothesis
            for names, kind in _GROUP.findall(rest):
                hidden[-1:] = [any(hidden[-1:]) or not kinds.issuperset(map(str.strip, kind.split("->")))]
                kinds.update(names.split() if kind.strip() in ("finType", "eqType", "Type") else ())
        elif word != "Theorem":
            hidden[-1:] = [True]
        elif any(hidden):
            yield f"{name}.v: expected the hypotheses of a Theorem in its statement, not in its section"


def _named(code: str) -> set[str]:
    """Return the names that a file defines or binds: those of its constructors, variables and arguments, too."""
    code = re.sub(r"^Proof\b.*?\b(?:Qed|Defined)\.", " ", code, flags=re.DOTALL | re.MULTILINE)
    built = " ".join(_BUILT.findall(code))
    bound = {name for names in _BOUND.findall(code) for name in " ".join(names).split()}
    return {*_DEFINED.findall(code), *re.findall(r"(?:\||:=|\{|;)\s*([\w']+)", built), *bound}


def _untwinned(theorems: Sequence[Theorem]) -> Iterator[str]:
    names = {t.name for t in theorems if not t.name.startswith("not_")}
    twinned = {name for t in theorems for name in t.twin_of}
    for t in theorems:
        if t.name.startswith("not_"):
            denied = t.statement.removeprefix(": ~ ")
            if denied == t.statement or re.search(r"(?<!~)~(?!~)", denied) or "<>" in re.split("->|,", denied)[-1]:
                yield f"{t.file}.v: expected {t.name} to deny a statement that has no denial, got {t.statement}"
            if not t.twin_of or not names.issuperset(t.twin_of):
                yield f"{t.file}.v: expected the theorems of which {t.name} is a twin, got {', '.join(t.twin_of)}"
        elif t.twin_of:
            yield f"{t.file}.v: expected a twin to be named not_..., got {t.name}"
        elif bool(t.claims and t.name not in twinned) != bool(t.no_twin):
            yield f"{t.file}.v: expected either a twin of {t.name}, which names claims, or the reason why it has none"


def words_of(path: Path) -> Iterator[tuple[str, str]]:
    """Yield id and words of every claim in a file of tests: all that its author wrote of it, but not of its twins."""
    for item in ast.parse(path.read_text(encoding="utf-8")).body:
        for call in getattr(item, "decorator_list", ()):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "verifies":
                found = [node.value for node in ast.walk(call.args[0]) if isinstance(node, ast.Constant)]
                yield str(found[0]), "\n".join(map(str, found))


def fingerprints(tests: Path, ids: Collection[str]) -> dict[str, str]:
    """Return the fingerprints of the words of those claims ``ids`` that files of tests below a folder make."""
    words = dict(pair for path in sorted(tests.rglob("test_*.py")) for pair in words_of(path) if pair[0] in ids)
    return {name: hashlib.sha256(words[name].encode()).hexdigest()[:16] for name in sorted(words)}


def manifest_of(
    sources: Sequence[Source], prints: Mapping[str, str], coq: str, axioms: Sequence[str]
) -> dict[str, Any]:
    """Return what the manifest should say."""
    return {
        "coq": coq,
        "axioms": sorted(axioms),
        "claims": dict(prints),
        "files": {
            source.name: {
                "sha256": source.sha256,
                "theorems": {
                    t.name: {
                        "proves": list(t.proves),
                        "part of": list(t.part_of),
                        "twin of": list(t.twin_of),
                        "statement": t.statement,
                    }
                    for t in source.theorems
                },
            }
            for source in sorted(sources, key=lambda source: source.name)
        },
    }


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a folder.

    Raises
    ------
    ArchiveError
        If it cannot be read.
    """
    try:
        found: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ArchiveError(f"{folder / MANIFEST}: expected the manifest of the files of Coq: {error}") from error
    return found


def differences(manifest: Mapping[str, Any], sources: Sequence[Source], tests: Path) -> Iterator[str]:
    """Yield where the files and the claims are not what the manifest says; nothing is compiled."""
    yield from faults(sources)
    claims = {claim for source in sources for t in source.theorems for claim in t.claims}
    prints = fingerprints(tests, claims)
    for claim in sorted(claims - set(prints)):
        yield f"{claim}: expected a claim, named in {', '.join(_naming(sources, claim))}"
    for claim in sorted(set(manifest["claims"]) | set(prints)):
        if manifest["claims"].get(claim) != prints.get(claim):
            where = ", ".join(_naming(sources, claim)) or "no theorem any more"
            yield f"{claim}: its words are not those that were compared with {where}"
    now = manifest_of(sources, prints, "", ())["files"]
    for name in sorted(set(manifest["files"]) | set(now)):
        old, new = manifest["files"].get(name), now.get(name)
        if old is None or new is None:
            yield f"{name}.v: {'not in the manifest' if old is None else 'is gone'}"
            continue
        for theorem in sorted(set(old["theorems"]) | set(new["theorems"])):
            if old["theorems"].get(theorem) != new["theorems"].get(theorem):
                yield f"{name}.v: {theorem} states something else than in the manifest, or of other claims"
        if old["sha256"] != new["sha256"]:
            yield f"{name}.v: another text than that of the manifest"


def _naming(sources: Sequence[Source], claim: str) -> list[str]:
    return [f"{t.name} ({t.file}.v)" for source in sources for t in source.theorems if claim in t.claims]


def coq_version() -> str | None:
    """Return the release of Coq at hand, ``None`` without one."""
    coqc = shutil.which("coqc")
    if coqc is None:
        return None
    return subprocess.run([coqc, "--print-version"], capture_output=True, text=True, check=True).stdout.split()[0]  # noqa: S603


def compile_sources(sources: Sequence[Source], only: Collection[str] | None = None) -> tuple[list[str], list[str]]:
    """Compile files in a new folder, and return the axioms under their theorems and what Coq rejects.

    Parameters
    ----------
    sources : sequence of Source
        In the order of :func:`read_sources`.
    only : collection of str, optional
        Names of files; those that they need are compiled, too. Without it all are.
    """
    needed = set(only if only is not None else (source.name for source in sources))
    for source in reversed(sources):
        if source.name in needed:
            needed |= set(source.needs)
    chosen = [source for source in sources if source.name in needed]
    with tempfile.TemporaryDirectory() as folder:
        for source in chosen:
            Path(folder, f"{source.name}.v").write_text(source.text, encoding="utf-8")
        for source in chosen:
            status, said = _coqc(folder, f"{source.name}.v")
            if status:
                return [], [f"{source.name}.v: does not compile", *said.strip().splitlines()[:_SHOWN]]
        every = ", ".join(f"@{t.file}.{t.name}" for source in chosen for t in source.theorems)
        names = " ".join(source.name for source in chosen)
        query = f"From Attention Require {names}.\nDefinition every := ({every}).\nPrint Assumptions every.\n"
        Path(folder, "Every.v").write_text(query, encoding="utf-8")
        status, said = _coqc(folder, "Every.v")
        if status:
            return [], ["Every.v: does not compile", *said.strip().splitlines()[:_SHOWN]]
    axioms = sorted(set(re.findall(r"^([A-Za-z_][\w.']*)(?= :|\s*$)", said.partition("Axioms:")[2], re.MULTILINE)))
    return axioms, [f"expected no axiom but those of the reals, got {name}" for name in axioms if name not in AXIOMS]


def _coqc(folder: str, name: str) -> tuple[int, str]:
    done = subprocess.run(  # noqa: S603
        [shutil.which("coqc") or "coqc", "-q", "-R", ".", "Attention", name],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + (done.stderr if done.returncode else "")


def prove(ids: Sequence[str], *, record: bool = False, folder: Path | None = None) -> tuple[str, int]:
    """Compile theorems and hold them against the manifest: the text that ``prove`` shows, and its status.

    Parameters
    ----------
    ids : sequence of str
        Claims or theorems; without any, all files.
    record : bool, default False
        Write the manifest: claims and theorems were compared, and all files compile.
    folder : Path, optional
        Where the files lie, below a folder that has ``verify``; without it, those of this repository.

    Raises
    ------
    ArchiveError
        If there are no files, no Coq, or no theorem of that name or of that claim.
    """
    if record and ids:
        raise ArchiveError("prove: expected no claims beside --record, which is about all")
    folder = formal_folder() if folder is None else folder
    tests = folder.parent.parent / "verify"
    sources = read_sources(folder)
    theorems = [t for source in sources for t in source.theorems]
    for name in ids:
        if not any(name in (t.name, *t.claims) for t in theorems):
            raise ArchiveError(f"{name}: expected a theorem of {folder}, or a claim that one names")
    chosen = [t for t in theorems if not ids or {t.name, *t.claims} & set(ids)]
    coq = coq_version()
    found = list(faults(sources) if record else differences(read_manifest(folder), sources, tests))
    if coq is None:
        raise ArchiveError("\n".join([*found, "coqc: expected Coq (Debian: coq and what proofs/README.md names)"]))
    start = time.monotonic()
    axioms, rejected = compile_sources(sources, {t.file for t in chosen} if ids else None)
    found += rejected
    if record and not found:
        prints = fingerprints(tests, {claim for t in theorems for claim in t.claims})
        found += [f"{c}: expected a claim" for t in theorems for c in t.claims if c not in prints]
        if not found:
            text = json.dumps(manifest_of(sources, prints, coq, axioms), indent=1, ensure_ascii=False)
            write_whole(folder / MANIFEST, f"{text}\n")
    elif not record and (old := read_manifest(folder)["coq"]) != coq:
        found.append(f"coqc: expected release {old}, with which the manifest was made, got {coq}")
    text = "".join(f"{line}\n" for line in found) or "".join(f"{_shown(t)}\n" for t in chosen)
    count = f"{len(chosen)} theorem{'s' * (len(chosen) != 1)}"
    done = f"{count}, Coq {coq}, {time.monotonic() - start:.0f} s"
    said = "not as it should be" if found else f"compiled from an empty folder, on {len(axioms)} axioms of the reals"
    return f"{text}{done}: {said}\n\n{NOT_COVERED}", int(bool(found))


def _shown(theorem: Theorem) -> str:
    named = [*theorem.proves, *(f"{claim} (in part)" for claim in theorem.part_of)]
    return f"{theorem.file}.{theorem.name}: {', '.join(named) or 'no claim'}"


def marks(evidence: Path) -> dict[str, str]:
    """Return for each claim the theorems about it, from the manifest.

    Parameters
    ----------
    evidence : Path
        The records that are shown; nothing is said of those of another repository, or where there is no manifest.
    """
    try:
        if not evidence.exists() or not evidence.samefile(suite_folder()):
            return {}
        files = read_manifest(formal_folder())["files"]
    except ArchiveError:
        return {}
    found: dict[str, list[str]] = {}
    for file, entry in files.items():
        for name, theorem in entry["theorems"].items():
            for claim in theorem["proves"]:
                found.setdefault(claim, []).append(f"{file}.{name}")
            for claim in theorem["part of"]:
                found.setdefault(claim, []).append(f"{file}.{name} (in part)")
    return {claim: ", ".join(names) for claim, names in found.items()}
