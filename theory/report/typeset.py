r"""Written proofs as LaTeX: the part of Markdown that they use, and no more.

Paragraphs, lists of one level, tables, formulas between dollars, emphasis, code, links and figures. Formulas go over as
they are, for they are LaTeX already. A link leads to where the paper prints what it names, else the name is left; keys
of sources that stand in the text become citations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from dataclasses import dataclass

from theory.report.archive import ArchiveError
from theory.report.citation import escape_latex

_INLINE = re.compile(
    r"\$\$(?P<shown>.*?)\$\$|\$(?P<formula>[^$]*)\$|`(?P<code>[^`]*)`|\[(?P<name>[^\]]*)\]\([^)\s]*\)", re.DOTALL
)
_FIGURE = re.compile(r"^\*\*Figure\.\*\* !\[(?P<caption>[^\]]*)\]\(\.\./figures/(?P<name>\w+)\.svg\)$", re.DOTALL)
_ANCHOR = re.compile(r"^\([\w-]+\)=$", re.MULTILINE)
_KEY = re.compile(r"\b[a-z]+\d{4}\b")
_BREAKS = re.compile(r"[.-](?=\w)")  # where a name may go on in the next line
_KEPT = re.compile("\x00(\\d+)\x00")


def sections(text: str) -> tuple[str, dict[str, str]]:
    """Return what stands before the first heading of the second level, and the text below each of these, by heading."""
    head, *parts = re.split(r"^## ", _ANCHOR.sub("", text), flags=re.MULTILINE)
    return head, {heading.strip(): body for heading, _, body in (part.partition("\n") for part in parts)}


def label(heading: str) -> str:
    """Return the name by which LaTeX refers to a section."""
    return f"section:{heading}"


@dataclass(frozen=True, slots=True)
class Typesetter:
    """Markdown as LaTeX, in a paper that prints some sections and knows some sources.

    Parameters
    ----------
    printed : set of str
        Headings to which links can lead.
    sources : set of str
        Keys of BibTeX.
    """

    printed: Set[str]
    sources: Set[str]

    def __call__(self, text: str) -> str:
        """Return LaTeX.

        Raises
        ------
        ArchiveError
            If the text has a block of code or a heading, which no section has.
        """
        blocks = "\n\n".join(self._block(block) for block in re.split(r"\n\s*\n", text.strip()))
        return blocks.replace("\n\n\\[", "\n\\[")  # a formula belongs to the paragraph before it

    def _block(self, block: str) -> str:
        if block.startswith(("```", "#", "~~~", ">")):
            raise ArchiveError(
                f"proofs: expected paragraphs, lists, tables and formulas, got {block.splitlines()[0]!r}"
            )
        if block.startswith("|"):
            return self._table(block)
        if block.startswith("- "):
            items = re.split(r"^- ", block, flags=re.MULTILINE)[1:]
            return itemize(self._line(item.strip()) for item in items)
        if found := _FIGURE.match(block):
            caption = self._line(found["caption"])
            return (
                "\\begin{figure}[htbp]\n\\centering\n"
                f"\\includegraphics[width=\\linewidth]{{figures/{found['name']}.pdf}}\n\\caption{{{caption}}}\n\\end{{figure}}"
            )
        return self._line(block)

    def _table(self, block: str) -> str:
        head, _, *rows = (
            " & ".join(self._line(cell.strip()) for cell in line.strip("|").split("|")) for line in block.splitlines()
        )
        width = 1.0 / (head.count(" & ") + 1)
        columns = rf">{{\raggedright\arraybackslash}}p{{{width - 0.03:.2f}\linewidth}}" * (head.count(" & ") + 1)
        body = "".join(f"{row} \\\\\n" for row in rows)
        return (
            f"\\begin{{center}}\n\\renewcommand{{\\arraystretch}}{{1.3}}\n\\begin{{tabular}}{{{columns}}}\n"
            f"\\hline\n{head} \\\\\n\\hline\n{body}\\hline\n\\end{{tabular}}\n\\end{{center}}"
        )

    def _line(self, text: str) -> str:
        kept: list[str] = []

        def keep(latex: str) -> str:
            kept.append(latex)
            return f"\x00{len(kept) - 1}\x00"

        text = _INLINE.sub(lambda found: keep(self._verbatim(found)), text)
        text = _KEY.sub(lambda found: keep(rf"\cite{{{found[0]}}}") if found[0] in self.sources else found[0], text)
        text = escape_latex(text)
        text = re.sub(r'"([^"]*)"', r"``\1''", text)
        text = re.sub(r"\*\*(.+?)\*\*", r"\\textbf{\1}", text, flags=re.DOTALL)
        text = re.sub(r"\*(.+?)\*", r"\\emph{\1}", text, flags=re.DOTALL)
        return _KEPT.sub(lambda found: kept[int(found[1])], text)

    def _verbatim(self, found: re.Match[str]) -> str:
        if found["shown"] is not None:
            return f"\\[{found['shown'].strip()}\\]"
        if found["formula"] is not None:
            return f"${found['formula']}$"
        return self.refer(found["code"] if found["code"] is not None else found["name"])

    def refer(self, name: str) -> str:
        """Return the name of a section, which leads there if the paper prints it."""
        breaking = _BREAKS.sub(r"\g<0>\\allowbreak ", escape_latex(name))
        set_ = rf"\texttt{{{breaking}}}"
        return rf"\hyperref[{label(name)}]{{{set_}}}" if name in self.printed else set_


def itemize(items: Iterable[str]) -> str:
    """Return a list of LaTeX."""
    return "\\begin{itemize}\n" + "".join(f"\\item {item}\n" for item in items) + "\\end{itemize}"
