"""The results as a paper: what Markdown becomes, that nothing is missing, and that LaTeX compiles it where it is."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from theory.__main__ import main
from theory.figures import render
from theory.figures.render import draw_committed
from theory.report.archive import ArchiveError
from theory.report.paper import compose
from theory.report.typeset import Typesetter, sections

ROOT = Path(__file__).parents[2]
TYPESET = Typesetter({"sums.two", "lemma-sum"}, {"higham2002"})


@pytest.fixture(scope="module")
def paper():
    return compose(ROOT / "verify" / "evidence", ROOT / "paper_notes.md", draw_committed)


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("a_b & 5%", r"a\_b \& 5\%"),
        ("$a_b$ and $$a\n\\le b$$", "$a_b$ and \\[a\n\\le b\\]"),
        ("*for $a * b$.* **Proof.** c", r"\emph{for $a * b$.} \textbf{Proof.} c"),
        ("twin `a-b`", r"twin \texttt{a-\allowbreak b}"),
        ("`sums.two`", r"\hyperref[section:sums.two]{\texttt{sums.\allowbreak two}}"),
        ("[lemma-sum](lemmas.md#lemma-sum)", r"\hyperref[section:lemma-sum]{\texttt{lemma-\allowbreak sum}}"),
        ("[sums.one](sums.md)", r"\texttt{sums.\allowbreak one}"),
        ("Higham (higham2002), other1999", r"Higham (\cite{higham2002}), other1999"),
        ("- a\n  b\n- c", "\\begin{itemize}\n\\item a\n  b\n\\item c\n\\end{itemize}"),
        ("a\n\nb", "a\n\nb"),
        ("a\n\n$$b$$\n\nc", "a\n\\[b\\]\n\nc"),
    ],
)
def test_markdown_becomes_latex(text, latex):
    assert TYPESET(text) == latex


def test_figures_and_tables():
    assert r"\caption{A $b$}" in TYPESET("**Figure.** ![A $b$](../figures/a.svg)")
    assert r"{figures/a.pdf}" in TYPESET("**Figure.** ![A](../figures/a.svg)")
    table = TYPESET("| a | b |\n|---|---|\n| 1 | $2$ |")
    assert "a & b \\\\\n\\hline\n1 & $2$ \\\\\n\\hline\n" in table
    assert table.count("raggedright") == 2


@pytest.mark.parametrize("text", ["```sh\nls\n```", "# a", "> a"])
def test_other_markdown_is_refused(text):
    with pytest.raises(ArchiveError, match="expected paragraphs, lists, tables and formulas"):
        TYPESET(f"a\n\n{text}")


def test_sections_lose_their_anchors():
    assert sections("# a\n\n(b)=\n## b\n\nc\n\n(d)=\n## d\n") == ("# a\n\n\n", {"b": "\nc\n\n\n", "d": ""})


def test_nothing_is_missing_and_no_markdown_is_left(paper):
    assert set(re.findall(r"\\hyperref\[([^\]]*)\]", paper.tex)) <= set(re.findall(r"\\label\{([^}]*)\}", paper.tex))
    cited = {key for keys in re.findall(r"\\cite\{([^}]*)\}", paper.tex) for key in keys.split(",")}
    assert cited == set(re.findall(r"^@\w+\{([^,]+),", paper.bib, re.MULTILINE))
    assert len(paper.figures) == paper.tex.count(r"\begin{figure}") > 5
    assert all(picture.startswith(b"%PDF") for picture in paper.figures.values())
    assert paper.tex.count(r"\label{section:") > 40
    plain = paper.tex.replace(r"\{", "").replace(r"\}", "")
    assert plain.count("{") == plain.count("}")
    assert not re.search(r"\]\(|\*\*|`|^#", re.sub(r"\$[^$]*\$", "", paper.tex), re.MULTILINE)


@pytest.mark.skipif(not (shutil.which("pdflatex") and shutil.which("bibtex")), reason="LaTeX is not installed")
def test_it_compiles(paper, tmp_path):
    paper.write(tmp_path)
    latex = ("pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper")
    for command in (latex, ("bibtex", "paper"), latex, latex, latex):
        done = subprocess.run(  # noqa: S603
            command, check=False, cwd=tmp_path, capture_output=True, text=True, errors="replace"
        )
        assert done.returncode == 0, done.stdout[-2000:]
    assert "undefined" not in (tmp_path / "paper.log").read_text(errors="replace")
    assert (tmp_path / "paper.pdf").stat().st_size > 10**5


def test_command_writes_the_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(render, "draw_committed", lambda *_: b"%PDF")
    assert main(["bundle", "--paper", str(tmp_path / "out")]) == 0
    assert "&& bibtex paper &&" in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["figures", "paper.bib", "paper.tex"]
    (tmp_path / "file").write_text("")
    assert main(["bundle", "--paper", str(tmp_path / "file")]) == 2
    assert "--paper: expected a folder that can be written" in capsys.readouterr().err


def test_a_figure_of_another_table_is_refused(tmp_path):
    (tmp_path / "toy.csv").write_bytes((ROOT / "figures" / "weights.csv").read_bytes())
    for name in ("toy", "none"):
        with pytest.raises(ArchiveError, match=rf"{name}\.csv: expected the table that manifest\.json names"):
            draw_committed(tmp_path, name)


def test_what_is_missing_is_named(tmp_path):
    (tmp_path / "paper_notes.md").write_text("")
    with pytest.raises(
        ArchiveError, match=r"proofs: expected written proofs, found no README\.md, lemmas\.md, results"
    ):
        compose(ROOT / "verify" / "evidence", tmp_path / "paper_notes.md", draw_committed)
