"""``python -m theory``: what the committed evidence says, for a reader and for a paper.

``list`` shows every claim on a line, ``explain`` one claim in full, ``cite`` what a paper prints of it, ``bundle`` the
results as a paper or as an archive, ``report`` renews the theorem index of ``paper_notes.md``. These compute nothing
anew and touch no room that loads slowly. ``certify`` bounds the Lipschitz constants of attention with given weights by
the theorems of ``theory.lipschitz``, ``look`` draws what such a layer does to given tokens, ``doctor`` says what this
machine computes with and whether a dozen claims come out as recorded, ``reference`` writes the files of known answers,
or compares them with what is computed, ``prove`` has Coq check the theorems of ``proofs/formal`` again, ``site`` makes
pages of all that is recorded, for a browser.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_SITE = ("jinja2", "markupsafe", "math_core", "markdown_it", "mdit_py_plugins", "pybtex", "sphinx")  # of the extras
_VERDICTS = ("supported", "refuted", "inconclusive", "vacuous")  # those of theory.evidence.judge, which loads NumPy
_PROOFS = ("none", "printed", "refereed", "formal in part", "formal")  # of theory.report.proofs
_FORMATS = ("bibtex", "latex", "csl", "markdown", "numbers", "json", "schema")
_UNREAD = 141  # as a shell says it
_KINDS = ("proved", "certified", "numeric", "estimated", "trend", "statistical")  # of theory.evidence.interval, as well


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m theory",
        description="Read the committed evidence: what is claimed, what became of it, how to cite it; certify weights.",
    )
    parser.add_argument("--version", action="version", version=f"attention-theory {_version()}")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--evidence",
        type=Path,
        metavar="DIR",
        help="folder of the records (default: the nearest evidence or */evidence of this repository, else the suite's)",
    )
    notes = argparse.ArgumentParser(add_help=False)
    notes.add_argument(
        "--notes",
        type=Path,
        metavar="FILE",
        help="theorem index and BibTeX (default: paper_notes.md above the evidence)",
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    every = verbs.add_parser("list", parents=[common], help="every claim on one line")
    every.add_argument(
        "words", nargs="*", metavar="WORD", help="only claims with all of these, the best first; 'sums.*' is of ids"
    )
    every.add_argument("--verdict", choices=_VERDICTS, help="only claims with this verdict")
    every.add_argument("--kind", choices=_KINDS, help="only claims of this kind")
    every.add_argument("--proof", choices=_PROOFS, help="only claims whose proof has this behind it")
    every.add_argument("--subject", metavar="S", help="only claims whose id begins with S and a dot")
    every.add_argument("--source", metavar="KEY", help="only claims that cite this source")
    every.add_argument("--label", metavar="L", help="only claims with this label, such as MA.P9")
    every.add_argument("--figure", metavar="NAME", help="only claims that this figure draws")
    every.add_argument("--json", action="store_true", help="print JSON, with sources and labels")
    one = verbs.add_parser("explain", parents=[common], help="one claim in full: hypotheses, numbers, twins, command")
    one.add_argument(
        "ids", nargs="+", metavar="ID", help="a claim, as `list` names it, MA.P9 for its label, or 'sums.*'"
    )
    cited = verbs.add_parser(
        "cite", parents=[common, notes], help="BibTeX, and a line of LaTeX with certified digits only"
    )
    cited.add_argument(
        "ids", nargs="*", metavar="ID", help="a claim, as `list` names it, MA.P9 for its label, or 'sums.*'"
    )
    cited.add_argument("--all", action="store_true", help="all claims, with all sources")
    cited.add_argument("--format", choices=_FORMATS, help="one of these (default: bibtex, then latex)")
    bundled = verbs.add_parser("bundle", parents=[common, notes], help="the results as a paper, or all as one zip")
    bundled.add_argument("--paper", type=Path, metavar="OUT", help="folder for LaTeX that compiles")
    bundled.add_argument("--zip", type=Path, metavar="FILE.zip", help="records, tables, figures, proofs, notes, lock")
    index = verbs.add_parser("report", parents=[common, notes], help="renew the theorem index of paper_notes.md")
    index.add_argument(
        "--check",
        action="store_true",
        help="write nothing; exit 1 if the index or quick evidence is older than its source",
    )
    index.add_argument(
        "--sample",
        type=int,
        default=0,
        metavar="N",
        help="decide N claims again at paper scale, others at every commit",
    )
    atlas = verbs.add_parser("site", parents=[common, notes], help="the atlas: a page for every claim, in a folder")
    atlas.add_argument("--out", type=Path, required=True, metavar="DIR", help="new folder, or an older site to replace")
    atlas.add_argument("--guide", action="store_true", help="with the guide in DIR/docs (extra docs, half a minute)")
    _certify_options(verbs.add_parser("certify", help="Lipschitz constants of attention with weights from a file"))
    _look_options(verbs.add_parser("look", help="pictures of attention with weights and tokens from files"))
    verbs.add_parser("doctor", help="processor, libraries and the verdicts of a dozen claims: what a bug report needs")
    known = verbs.add_parser("reference", help="write the files of known answers into reference/, or compare them")
    known.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is not what is computed")
    known.add_argument(
        "--out", type=Path, metavar="DIR", help="folder of the files (default: reference/ of this clone)"
    )
    proved = verbs.add_parser("prove", help="compile the theorems that Coq checks, against their manifest")
    proved.add_argument("ids", nargs="*", metavar="ID", help="a claim, or a theorem (default: all)")
    proved.add_argument("--record", action="store_true", help="write the manifest: theorems and claims were compared")
    shells = verbs.add_parser("completion", help="print a script with which a shell completes commands and claims")
    shells.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell")
    return parser


def _version() -> str:
    from theory import __version__  # noqa: PLC0415

    return __version__


def _certify_options(parser: argparse.ArgumentParser) -> None:
    _layer_options(parser)
    parser.add_argument(
        "--radius", type=float, metavar="R", help="no token is longer (default: 1, or the longest of the given tokens)"
    )
    parser.add_argument(
        "--tokens",
        metavar="N|T.npy",
        help="number of tokens, for constants that depend on it, or a file of tokens, shape (n, d), to certify at",
    )
    parser.add_argument(
        "--reach", type=float, metavar="r", help="how far each given token may move (default: to twice the local norm)"
    )
    parser.add_argument("--block", action="store_true", help="all blocks of FILE: norms, attention, feed-forward part")
    parser.add_argument("--norm", metavar="N", help="pre (default of --block), post or none: where norms are")
    parser.add_argument("--kind", metavar="K", help="of norms: layer or rms (default: layer where FILE has a shift)")
    parser.add_argument("--eps", type=float, metavar="E", help="of norms, which no file tells (often 1e-5)")
    parser.add_argument("--activation", metavar="A", help="of feed-forward parts: relu, gelu, gelu-tanh or silu")
    parser.add_argument("--variance", type=float, metavar="V", help="no token that enters a norm has a smaller one")
    parser.add_argument("--prefix", metavar="P", help="only blocks whose names begin with this")
    parser.add_argument("--no-search", action="store_true", help="constants only, no lower bounds")
    parser.add_argument("--rotary", action="store_true", help="positions turn queries and keys: bounds for all of them")
    parser.add_argument("--base", type=float, metavar="B", help="of rotary positions of given tokens (often 10000)")
    parser.add_argument("--pairs", help="coordinates they turn together: halves (default: k, k + d/2) or neighbours")
    parser.add_argument("--json", action="store_true", help="print JSON with all digits and the worst tokens found")


def _look_options(parser: argparse.ArgumentParser) -> None:
    _layer_options(parser)
    parser.add_argument("--tokens", type=Path, metavar="T.npy", required=True, help="tokens, an array (n, d) of NumPy")
    parser.add_argument("--out", type=Path, metavar="DIR", required=True, help="folder of the pictures")
    parser.add_argument(
        "--layers", type=int, default=6, metavar="K", help="how often the layer is applied (default: 6)"
    )
    parser.add_argument("--rotary", action="store_true", help="positions turn queries and keys, in the order of tokens")
    parser.add_argument("--base", type=float, metavar="B", help="of rotary positions (often 10000)")
    parser.add_argument("--pairs", help="coordinates they turn together: halves (default: k, k + d/2) or neighbours")
    parser.add_argument("--format", default="svg", metavar="F,F", help="any of svg, png and pdf (default: svg)")


def _layer_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="weights, .npz or .safetensors")
    parser.add_argument("--heads", type=int, default=1, metavar="H", help="number of heads (default: 1)")
    parser.add_argument("--score", default="dot", help="dot (default) or distance")
    parser.add_argument("--causal", action="store_true", help="token i sees the tokens up to i only")
    parser.add_argument("--residual", action="store_true", help="the input is added to the output")
    parser.add_argument("--scale", type=float, metavar="S", help="factor of the scores (default: one over root d_k)")
    parser.add_argument(
        "--names",
        metavar="NAME=KEY,...",
        help="names in FILE of w_query, w_key, w_value, w_out, or w_qkv for all three, and of b_query and other biases",
    )
    parser.add_argument("--convention", help="rows (default, y = W x) or columns (y = x W) of matrices are outputs")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    0 if all is well, 1 if something is stale, a certificate is refuted or ``list`` finds nothing, 2 if what is asked
    for is missing or broken.
    """
    options = _parser().parse_args(arguments)
    computed = {"certify": _certify, "look": _look, "doctor": _doctor, "reference": _reference}
    if options.verb in computed:
        return computed[options.verb](options)
    from theory.report.archive import ArchiveError  # noqa: PLC0415  --help needs none of it

    try:
        text, status = _answer(options)
    except ArchiveError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(text)
    return status


def _certify(options: argparse.Namespace) -> int:
    from theory.lipschitz.certificate import run_command  # noqa: PLC0415

    try:
        with _said():
            text = run_command(options)
        sys.stdout.write(text)
    except (ValueError, TypeError, ImportError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except ArithmeticError as error:  # a row that the search refutes
        sys.stderr.write(f"nothing is certified, by a fault of this package that should be reported: {error}\n")
        return 1
    return 0


def _look(options: argparse.Namespace) -> int:
    from theory.figures.portrait import run_command  # noqa: PLC0415

    try:
        sys.stdout.write(run_command(options))
    except (ValueError, TypeError, ImportError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


@contextmanager
def _said() -> Iterator[None]:
    """Show on a terminal what a certificate is at."""
    from rich.console import Console  # noqa: PLC0415

    from theory.lipschitz.certificate.progress import listening  # noqa: PLC0415

    console = Console(stderr=True, highlight=False, markup=False)
    if not console.is_terminal:
        yield
        return
    with console.status("weights are read") as status, listening(status.update):
        yield


def _doctor(_: argparse.Namespace) -> int:
    from theory import _jit as jit, engine  # noqa: PLC0415
    from theory._backend import backend  # noqa: PLC0415
    from theory.engine import threads  # noqa: PLC0415
    from theory.report import doctor  # noqa: PLC0415

    cache = str(jit.cache_folder(Path(engine.__file__).parent) or "not kept")
    try:
        text = doctor.describe_machine(backend=backend(), target=jit.target(), threads=threads.threads(), cache=cache)
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()  # the verdicts take ten seconds
    text, status = doctor.check_verdicts()
    sys.stdout.write(text)
    return status


def _reference(options: argparse.Namespace) -> int:
    from theory.reference import files  # noqa: PLC0415

    try:
        return files.run_command(options.out, check=options.check)
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 2


def _answer(options: argparse.Namespace) -> tuple[str, int]:
    own = {"list": _list, "bundle": _bundle, "report": _report, "site": _site, "prove": _prove, "completion": _complete}
    if options.verb in own:
        return own[options.verb](options)
    return ("\n".join(_explanations(options)) if options.verb == "explain" else _citation(options)), 0


def _list(options: argparse.Namespace) -> tuple[str, int]:
    from theory.report import archive, drawn, formatting, freshness, locations, proofs, selection  # noqa: PLC0415

    folder = options.evidence or locations.evidence_folder()
    terminal = sys.stdout.isatty()
    records = archive.read_all(folder)
    known = [record.claim.id for record in records]
    printed = proofs.read_proofs(folder, known)
    figures = {} if options.figure is None else drawn.read_figures(folder, known)
    shown = selection.select(
        records, subject=options.subject, kind=options.kind, verdict=options.verdict, source=options.source,
        proof=options.proof, proofs=printed, label=options.label, figure=options.figure, figures=figures,
        words=options.words,
    )  # fmt: skip
    if not shown:
        sys.stderr.write(f"none of {len(records)} claims agrees with all that is asked for\n")
    if options.json:
        return selection.as_json(shown, printed), int(not shown)
    text = formatting.format_list(
        shown,
        colour=terminal and "NO_COLOR" not in os.environ,
        changes=freshness.changes(shown, folder),
        proofs=printed,
        columns=shutil.get_terminal_size().columns if terminal else None,
    )
    return text, int(not shown)


def _bundle(options: argparse.Namespace) -> tuple[str, int]:
    from theory.report import archive, bundle, locations, paper  # noqa: PLC0415

    if options.paper is None and options.zip is None:
        raise archive.ArchiveError("bundle: expected --paper OUT, --zip FILE.zip or both, got neither")
    folder = options.evidence or locations.evidence_folder()
    notes = options.notes or locations.notes_above(folder)
    text = "" if options.zip is None else bundle.write_zip(options.zip, folder, notes)
    if options.paper is not None:
        from theory.figures.render import draw_committed  # noqa: PLC0415

        text += paper.write_paper(options.paper, folder, notes, draw_committed)
    return text, 0


def _prove(options: argparse.Namespace) -> tuple[str, int]:
    from theory.report import formal  # noqa: PLC0415

    return formal.prove(options.ids, record=options.record)


def _complete(options: argparse.Namespace) -> tuple[str, int]:
    from theory.report import archive, completion, locations  # noqa: PLC0415

    claims = [path.stem for path in archive.record_paths(locations.evidence_folder())]
    return completion.script(_parser(), options.shell, claims), 0


def _citation(options: argparse.Namespace) -> str:
    from theory.report import archive, citation, citing, csl, locations, proofs  # noqa: PLC0415

    if options.format == "schema":
        return citing.schema()
    if options.all == bool(options.ids):
        raise archive.ArchiveError(
            "cite: expected ids of claims or --all, got " + ("both" if options.all else "neither")
        )
    found = [_record_folder(options, name) for name in _claims_meant(options)]
    folder = found[0][0] if found else options.evidence or locations.evidence_folder()
    records = [archive.find(*place) for place in found] or archive.read_all(folder)
    lines = "".join(f"{citation.latex(record)}\n" for record in records)
    if options.format in ("latex", "markdown", "numbers"):
        return {"latex": lines, "markdown": citing.as_markdown(records), "numbers": citing.as_macros(records)}[
            options.format
        ]
    if options.format == "json":
        printed = proofs.read_proofs(folder, [path.stem for path in archive.record_paths(folder)])
        return citing.as_results(records, printed, _version())
    cites = any(record.claim.cites for record in records)
    entries = citation.entries(
        records, options.notes or (locations.notes_above(folder) if cites else None), whole=options.all
    )
    if options.format == "csl":
        return csl.as_csl(entries, csl.places_of(records))
    bibtex = "\n\n".join(entries) + "\n"
    return bibtex if options.format == "bibtex" else f"{bibtex}\n{lines}"


def _explanations(options: argparse.Namespace) -> Iterator[str]:
    """Yield the text of every claim that is asked for."""
    from theory.report import archive, drawn, formatting, freshness, proofs  # noqa: PLC0415

    for asked in _claims_meant(options):
        folder, name = _record_folder(options, asked)
        record = archive.find(folder, name)
        known = [path.stem for path in archive.record_paths(folder)]
        printed = proofs.read_proofs(folder, known)
        figures = drawn.drawn_in(drawn.read_figures(folder, known), name, len(known))
        yield formatting.format_claim(record, freshness.changes([record], folder), printed, figures)


def _claims_meant(options: argparse.Namespace) -> list[str]:
    """Return the ids that are asked for; a label or a pattern stands for all claims that it fits."""
    from theory.report import archive, locations, selection  # noqa: PLC0415

    names: list[str] = options.ids
    if any(selection.is_pattern(name) or ("." in name and name.isupper()) for name in names):  # such as MA.P9
        return selection.ids_of(archive.read_all(options.evidence or locations.evidence_folder()), names)
    return names


def _report(options: argparse.Namespace) -> tuple[str, int]:
    from theory.evidence.runner import SCALES  # noqa: PLC0415
    from theory.report import archive, freshness, index, locations, sample  # noqa: PLC0415

    folder = options.evidence or locations.evidence_folder()
    records = archive.read_all(folder)
    notes = options.notes or locations.notes_above(folder)
    difference = index.index_difference(notes, records)
    since = freshness.changes(records, folder)
    old = {scale: "".join(f"{line}\n" for line in freshness.warnings(records, since, scale)) for scale in SCALES}
    packed = locations.is_packaged(notes)
    stale = bool(difference) and (options.check or packed)
    if difference and not stale:
        index.renew_index(notes, records)
    if stale:
        mend = "install the package again" if packed else "python -m theory report renews it"
        text = f"{difference}\n{notes}: the theorem index is stale; {mend}\n"
    else:
        text = f"{notes}: {'renewed' if difference else 'current'}, {len(records)} claims\n"
    sampled, fell = sample.decide_again(records, folder, options.sample)
    return text + "".join(old.values()) + sampled, int(stale or (options.check and bool(old["quick"])) or fell)


def _site(options: argparse.Namespace) -> tuple[str, int]:
    from theory.report import archive, locations  # noqa: PLC0415

    folder = options.evidence or locations.evidence_folder()
    notes = options.notes or locations.notes_above(folder)
    try:
        from theory.site import build_site  # noqa: PLC0415

        number = build_site(folder, notes, options.out, guide=options.guide)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _SITE:
            raise
        extra = "docs" if options.guide else "site"
        raise archive.ArchiveError(f'the site needs {error.name}: pip install "attention-theory[{extra}]"') from error
    except (ValueError, OSError) as error:
        raise archive.ArchiveError(str(error)) from error
    return f"{options.out / 'index.html'}: {number} pages\n", 0


def _record_folder(options: argparse.Namespace, name: str) -> tuple[Path, str]:
    """Return the folder that has a record, and its id; say so if it is not the nearest one, or another claim.

    A merged claim is asked for by the one that says now what it said; a test that checks it has no record.
    """
    from theory.report import archive, locations, merged  # noqa: PLC0415

    folders = locations.evidence_folders() if options.evidence is None else [Path(options.evidence)]
    went = merged.find_successor(folders, name)
    if went is not None and not went.is_claim:
        raise archive.ArchiveError(f"{went.id}: is no claim any more, {went.into} checks it: {went.why}")
    if went is not None:
        sys.stderr.write(f"{went.id}: was merged into {went.into}: {went.why}\n")
        name = went.into
    folder = archive.find_folder(folders, name)
    if folder != folders[0]:
        sys.stderr.write(f"{name}: no claim of {folders[0]}; this is the record in {folder}\n")
    return folder, name


def _run() -> int:
    """Run one command for a shell; a reader who has enough, as ``head`` has, is told nothing."""
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # where the interpreter leaves the rest
        return _UNREAD
    except OSError as error:
        if error.filename is not None:  # of a file, which is no fault of where the text goes
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.stderr.write(f"standard output: expected to be written, got {error.strerror}\n")
        return 2
    return status


if __name__ == "__main__":
    sys.exit(_run())
