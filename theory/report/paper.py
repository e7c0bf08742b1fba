r"""The results as a paper: LaTeX with the sections that they rest on, the figures and the sources.

The text is ``proofs/results.md``. Sections of the other files, and lemmas, that it or one of them refers to by a link
are appended with the conventions of their file. Under each result stands what ``cite`` prints of its claims. The folder
compiles with LaTeX's base and recommended packages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from theory.evidence.files import write_together
from theory.report.archive import ArchiveError, find
from theory.report.citation import SUITE, bibliography, escape_latex, latex, suite_bibtex
from theory.report.typeset import Typesetter, itemize, label, sections

RESULTS, LEMMAS, CONVENTIONS = "results.md", "lemmas.md", ("README.md", "How a section is read")
_LINK = re.compile(r"\[([^\]]*)\]\((\w[\w-]*\.md)(?:#[\w-]+)?\)")
_IMAGE = re.compile(r"\\includegraphics\[[^\]]*\]\{figures/([^}]*)\}")
_CITED = re.compile(r"\\cite(?:\[[^\]]*\])?\{([^}]*)\}")
_BEFORE = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage{amsmath,amssymb,array,graphicx,microtype}
\usepackage[a4paper,margin=28mm]{geometry}
\usepackage[hidelinks]{hyperref}
\renewcommand{\labelitemi}{$\bullet$}
\setcounter{tocdepth}{1}
\setlength{\parindent}{0pt}
\setlength{\parskip}{.5\baselineskip}
\emergencystretch=3em
\allowdisplaybreaks
\renewcommand{\topfraction}{.9}
\renewcommand{\textfraction}{.07}
\renewcommand{\floatpagefraction}{.8}
\makeatletter
\@beginparpenalty=10000 % a list begins on the page of the line before it
\makeatother
"""


@dataclass(frozen=True, slots=True)
class Paper:
    """What a paper consists of.

    Parameters
    ----------
    tex : str
        LaTeX.
    bib : str
        BibTeX of all that it cites.
    figures : dict
        Contents of the pictures, by the name of their file.
    """

    tex: str
    bib: str
    figures: dict[str, bytes]

    def write(self, out: Path) -> None:
        """Write ``paper.tex``, ``paper.bib`` and ``figures/`` into a folder, which is made unless it is there."""
        (out / "figures").mkdir(parents=True, exist_ok=True)
        pictures = {out / "figures" / name: picture for name, picture in self.figures.items()}
        write_together({out / "paper.tex": self.tex, out / "paper.bib": self.bib, **pictures})


def write_paper(out: Path, folder: Path, notes: Path, draw: Callable[[Path, str], bytes]) -> str:
    """Write the paper of the results and say how it compiles.

    Parameters
    ----------
    out : Path
        Where to.
    folder, notes : Path
        Records, and notes with the sources; ``proofs`` and ``figures`` lie beside the notes.
    draw : callable
        Returns the PDF of a figure, given the folder of the tables and its name.

    Raises
    ------
    ArchiveError
        If one of them is missing or not as it should be, or ``out`` cannot be written.
    """
    paper = compose(folder, notes, draw)
    try:
        paper.write(out)
    except OSError as error:
        raise ArchiveError(f"--paper: expected a folder that can be written, got {out}: {error}") from error
    return (
        f"{out / 'paper.tex'}: {paper.tex.count(chr(10))} lines, {len(paper.figures)} figures\n"
        f"cd {out} && pdflatex paper && bibtex paper && pdflatex paper && pdflatex paper && pdflatex paper\n"
    )


def compose(folder: Path, notes: Path, draw: Callable[[Path, str], bytes]) -> Paper:
    """Return the paper of the results; arguments and errors as those of :func:`write_paper`."""
    root = notes.parent
    texts = _read(root / "proofs")
    head, results = sections(texts[RESULTS])
    chosen = _choose(texts, texts[RESULTS])
    entries = bibliography(notes)
    typeset = Typesetter({heading for headings in chosen.values() for heading in headings}, set(entries))
    title, _, about = head.strip().partition("\n")
    parts = [_BEFORE, rf"\title{{{escape_latex(SUITE)}: {escape_latex(title.lstrip('# ')).lower()}}}", r"\author{}"]
    parts += [r"\date{}", r"\begin{document}", r"\maketitle", typeset(about), r"{\parskip=0pt\tableofcontents}"]
    for heading, body in results.items():
        text, _, ids = body.partition("**Claims.**")
        parts += [rf"\section{{{escape_latex(heading)}}}", typeset(text)]
        if ids:
            claims = re.findall(r"`([^`]+)`", ids)
            parts += [r"\textbf{Claims.}", itemize(latex(find(folder, claim)) for claim in claims)]
    parts += [r"\appendix", _conventions(texts, typeset)]
    for name, headings in chosen.items():
        before, bodies = sections(texts[name])
        line, _, shared = before.strip().partition("\n")
        parts += [rf"\section{{{escape_latex(line.lstrip('# '))}}}", typeset(shared)]
        for heading in headings:
            parts.append(rf"\subsection{{\texttt{{{escape_latex(heading)}}}}}\label{{{label(heading)}}}")
            parts.append(typeset(bodies[heading]))
    parts += [r"\bibliographystyle{plain}", r"\bibliography{paper}", r"\end{document}", ""]
    tex = "\n\n".join(part for part in parts if part)
    cited = sorted({key for keys in _CITED.findall(tex) for key in keys.split(",")} - {SUITE})
    pictures = {name: draw(root / "figures", Path(name).stem) for name in _IMAGE.findall(tex)}
    return Paper(tex, "\n\n".join([*(entries[key] for key in cited), suite_bibtex(), ""]), pictures)


def _read(folder: Path) -> dict[str, str]:
    try:
        texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}
    except (OSError, UnicodeDecodeError) as error:
        raise ArchiveError(f"{folder}: expected written proofs: {error}") from error
    if missing := {RESULTS, LEMMAS, CONVENTIONS[0]} - set(texts):
        raise ArchiveError(f"{folder}: expected written proofs, found no {', '.join(sorted(missing))}")
    return texts


def _choose(texts: dict[str, str], text: str) -> dict[str, list[str]]:
    """Return the headings that are appended, by file: what the text links, and what that links, and so on."""
    found: dict[str, set[str]] = {}
    waiting = [text]
    while waiting:
        for heading, name in _LINK.findall(waiting.pop()):
            bodies = sections(texts.get(name, ""))[1]
            if heading in bodies and heading not in found.setdefault(name, set()):
                found[name].add(heading)
                waiting.append(bodies[heading])
    order = [LEMMAS, *sorted(set(found) - {LEMMAS})]
    return {
        name: [heading for heading in sections(texts[name])[1] if heading in found[name]]
        for name in order
        if found.get(name)
    }


def _conventions(texts: dict[str, str], typeset: Typesetter) -> str:
    """Return how a section is read."""
    name, heading = CONVENTIONS
    bodies = sections(texts[name])[1]
    if heading not in bodies:
        raise ArchiveError(f"{name}: expected the section {heading!r}, found none")
    return f"\\section{{{heading}}}\n\n{typeset(bodies[heading])}"
