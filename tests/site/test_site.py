"""A small site of made-up evidence, and what is refused."""

import json
import sys

import pytest
from markupsafe import Markup

from tests.specimen import edited, lay
from theory.__main__ import main
from theory.site import build, build_site, formulas, prose, tied_numbers
from theory.site.pages import only_text
from theory.site.sources import read_source


@pytest.fixture
def folder(tmp_path):
    return lay(tmp_path)


def built(folder, out):
    return build_site(folder, folder.parent.parent / "paper_notes.md", out)


def test_the_command_builds_a_site_without_proofs_and_figures(capsys, folder, tmp_path):
    assert main(["site", "--evidence", str(folder), "--out", str(tmp_path / "site")]) == 0
    assert "index.html: " in capsys.readouterr().out
    page = (tmp_path / "site" / "c" / "sums.two.html").read_text(encoding="utf-8")
    assert "One plus" not in page  # words stay as they are; the style sheet begins them with a capital
    assert "<math><mn>1</mn><mo>+</mo><mn>1</mn><mo>=</mo><mn>2</mn></math>" in page
    assert "no proof" not in page.lower() or "No written proof here." in page
    assert not (tmp_path / "site" / "f").exists() or not list((tmp_path / "site" / "f").iterdir())


def test_a_site_is_the_same_when_built_again_and_replaces_itself(folder, tmp_path):
    out = tmp_path / "site"
    number = built(folder, out)
    first = {path: path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
    (out / "left-over.html").write_text("", encoding="utf-8")
    assert built(folder, out) == number
    assert {path: path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()} == first
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


def test_a_guide_that_cannot_be_built_is_refused_first(capsys, folder, tmp_path, monkeypatch):
    def asked():
        arguments = ["--evidence", str(folder), "--out", str(tmp_path / "site")]
        return main(["site", "--guide", *arguments]), capsys.readouterr().err

    monkeypatch.setattr(build, "_fill", lambda *_: pytest.fail("pages were made"))
    status, told = asked()
    assert (status, "guide: expected a clone, which has docs/conf.py, found none in" in told) == (2, True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "conf.py").write_text("", encoding="utf-8")
    monkeypatch.setitem(sys.modules, "sphinx", None)
    status, told = asked()
    assert (status, told) == (2, 'the site needs sphinx: pip install "attention-theory[docs]"\n')
    assert not (tmp_path / "site").exists()


def test_a_folder_of_somebody_else_is_left_alone(capsys, folder, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear", encoding="utf-8")
    assert main(["site", "--evidence", str(folder), "--out", str(tmp_path / "mine")]) == 2
    assert "expected a new or empty folder or an older site" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]
    assert main(["site", "--evidence", str(folder), "--out", str(tmp_path / "mine" / "letter.txt")]) == 2
    assert "expected a folder, got the file" in capsys.readouterr().err


def test_a_formula_that_cannot_be_shown_is_named_and_leaves_no_half_site(capsys, folder, tmp_path):
    edited(folder / "sums.two.json", lambda whole: whole.update(statement=r"$\nosuchcommand$"))
    assert main(["site", "--evidence", str(folder), "--out", str(tmp_path / "site")]) == 2
    assert "nosuchcommand" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_what_stands_in_a_record_is_escaped(folder, tmp_path):
    edited(folder / "sums.two.json", lambda whole: whole.update(words="<script>alert(1)</script>"))
    built(folder, tmp_path / "site")
    for path in (tmp_path / "site").rglob("*.html"):
        assert "<script>alert" not in path.read_text(encoding="utf-8")
    index = (tmp_path / "site" / "index.js").read_text(encoding="utf-8")
    assert "</script>" not in index
    assert json.loads(index.removeprefix("globalThis.ATLAS = ").removesuffix(";\n"))["claims"]


@pytest.mark.parametrize("value", [0.5, 1, None, {"lo": 1.0}])
def test_a_template_prints_no_number_that_nobody_formatted(value):
    with pytest.raises(TypeError, match="expected text, or a number that is tied to its record"):
        only_text(value)
    assert only_text(tied_numbers.count(3, "#/cases")) == Markup('<data value="3" data-src="#/cases">3</data>')


def test_a_count_is_no_float():
    with pytest.raises(TypeError, match="value: expected a count, got float"):
        tied_numbers.count(3.0, "#/cases")


def test_powers_of_ten_and_signs_are_those_of_print():
    assert tied_numbers.most(-2.5e-14, "#/x") == Markup(
        '<data value="-2.5e-14" data-src="#/x">\u22122.5\u00d710<sup>\u221214</sup></data>'
    )


def test_a_star_after_a_command_is_a_product():
    assert formulas.formula(r"G_\varepsilon*N") == formulas.formula(r"G_\varepsilon * N")
    with pytest.raises(ValueError, match="formula: expected what can be shown"):
        formulas.formula(r"\frac{1}{")


def test_links_that_lead_nowhere_become_text():
    links = prose.Links({"sums.two"}, {"proofs/a.md": "p/a.html", "figures/a.png": "f/a.svg"})
    text = "[sums.two](a.md), [b](b.md), [c](https://c.org), `sums.two` ![a](../figures/a.png)![b](../figures/b.png)"
    made = prose.render(text, links, "proofs/x.md", "../")
    assert made.endswith('<img src="../f/a.svg" alt="a" /></p>\n')
    assert '<a href="../p/a.html#sums.two">sums.two</a>, b, <a href="https://c.org">c</a>' in made
    assert '<a href="../c/sums.two.html"><code>sums.two</code></a>' in made


@pytest.mark.parametrize("shown", ["$$a$$", "$$a\n= a$$", "$$\na\n$$"])
def test_a_displayed_formula_may_stand_in_a_paragraph(shown):
    made = prose.render(f"Then\n{shown}\nand $b$.", prose.Links((), {}), "proofs/x.md")
    assert made.count('<math display="block">') == 1
    assert made.endswith("<p>and <math><mi>b</mi></math>.</p>\n")


def test_a_source_is_read_from_its_bibtex():
    people = r"author = {Csisz{\'a}r, I. and Doe, Jane}"
    text = f"@article{{a2020, {people}, title = {{The {{$I$}} of it}}, year = {{2020}}, note = {{arXiv:1.2}}}}"
    source = read_source("a2020", text)
    assert (source.short, source.link) == ("Csisz\u00e1r and Doe 2020", "https://arxiv.org/abs/1.2")
    assert source.title == Markup("The <math><mi>I</mi></math> of it")
    with pytest.raises(ValueError, match="b: expected an entry of BibTeX"):
        read_source("b", text)
