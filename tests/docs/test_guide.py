"""The guide: every public name is described, every link leads somewhere, and Sphinx has nothing to complain of."""

import doctest
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.specimen import lay
from tests.test_lazy import DOORS
from theory.__main__ import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OF_SPHINX = ("sphinx", "myst_parser", "numpydoc", "sphinx_gallery", "torch")
OF_TORCH = (".torch", ".arms")
READ = sorted(door for door in DOORS if "._" not in door)
AXE = Path(os.environ.get("AXE", ROOT / "node_modules" / "axe-core" / "axe.min.js"))
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
WANTED = (  # what somebody types, where the first line leads, and what stands there
    ("softmax", "docs/made/api/theory.maxent.html#theory.maxent.softmax", "maximiser"),
    ("attend_window", "docs/made/api/theory.attention.variants.html", "attend_window"),
    ("LinearScores hessian", "#theory.maxent.LinearScores.hessian", "hessian"),
    ("tokens as particles", "docs/made/tutorials/4_particles.html", "Tokens as particles"),
    ("certificates and pictures", "docs/certificates.html", "Certificates"),
)
LOOKED_AT = (
    "index.html", "verdict.html", "arms.html", "genindex.html", "made/api/index.html", "made/gallery/lipschitz.html",
    "made/api/theory.lipschitz.constants.html", "made/tutorials/index.html", "made/tutorials/6_own_theorem.html",
)  # fmt: skip
TAGS = {"a": "href", "img": "src", "link": "href", "script": "src"}


@pytest.fixture(scope="module")
def pages():
    """Return the module that writes pages, from the folder where Sphinx finds it."""
    sys.path.insert(0, str(DOCS / "_sphinx"))
    yield import_module("made_pages")
    sys.path.remove(str(DOCS / "_sphinx"))


@pytest.fixture(scope="module")
def door_pages():
    """Return pages of doors from another process: collecting doctests without an extra leaves modules half made."""
    doors = [door for door in READ if find_spec("torch") or not door.endswith(OF_TORCH)]
    code = f"import json, made_pages; print(json.dumps({{door: made_pages.door_page(door) for door in {doors}}}))"
    path = os.pathsep.join([str(DOCS / "_sphinx"), str(ROOT)])
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)  # noqa: S603  written here
    return json.loads(done.stdout)


class Page(HTMLParser):
    """What a page leads to, and the places in it."""

    def __init__(self, text):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):  # noqa: D102  of the library
        found = dict(attrs)
        self.places.update(filter(None, [found.get("id")]))
        if found.get(TAGS.get(tag)):
            self.links.append(unquote(found[TAGS[tag]]))


def test_the_doors_are_those_of_the_package(pages):
    assert pages.doors() == READ


@pytest.mark.parametrize("door", READ)
def test_the_page_of_a_door_has_all_its_names(door_pages, door):
    if door.endswith(OF_TORCH):
        pytest.importorskip("torch")
    described = re.findall(r"^\.\. (?:py:data|autoclass|autofunction):: ([\w.]+)$", door_pages[door], re.MULTILINE)
    assert [name.rpartition(".")[2] for name in described] == import_module(door).__all__


def test_every_figure_of_the_manifest_is_in_the_gallery(pages):
    made = "".join(pages.figure_pages().values())
    for path in sorted((ROOT / "figures").glob("*.csv")):
        assert made.count(f'src="../../../f/{path.stem}.svg"') == 2, path.stem  # among all, and with its caption


def test_captions_and_links_are_translated(pages):
    assert pages._mathematics(r"at most $x_1$*") == r"at most :math:`x_1`\ \*"
    links = import_module("atlas_links")
    text = "[a](../proofs/x.md), [b](running.md), [c](../theory/x.py), [d](https://d.org), [e](../README.md)"
    made = "[a](atlas:p/x.html), [b](/running.md), c, [d](https://d.org), [e](atlas:index.html)"
    assert links.lead(text, "docs/y.md") == made


def test_a_page_keeps_its_words_and_what_its_sheets_name(pages):
    slim = import_module("slim").slim
    code = '<pre>a  b\n  <span class="k">if</span> <span class="n">c</span></pre>'
    assert slim(code) == "<pre tabindex=0>a  b\n  <span class=k>if</span> c</pre>"
    assert slim('<dl class="py x">\n\n <dt id="a.b">a</dt>\n<dd>b</dd></dl>') == "<dl class=py><dt id=a.b>a<dd>b</dl>"
    assert slim('<p title="a b"><span class="pre">x <i>y</i></span></p>') == '<p title="a b">x <i>y</i></p>'
    assert slim('<a href="z.html#a.b" title="a.b">b</a>') == "<a href=z.html#a.b>b</a>"


def test_examples_of_a_verdict_run():
    done = doctest.testfile(str(DOCS / "verdict.md"), module_relative=False)
    assert (done.failed, done.attempted >= 8) == (0, True)


def lost(root, read):
    """Return the links of pages that lead nowhere; pages that are led to are read, too."""
    known, wrong = dict(read), []
    for name, page in read.items():
        for link in page.links:
            path, _, place = link.partition("#")
            if re.match(r"https?:|mailto:|data:", link):
                continue
            target = ((root / name).parent / path.partition("?")[0]).resolve() if path else root / name
            right = root in target.parents and target.is_file()
            if right and place and target.suffix == ".html":
                there = target.relative_to(root).as_posix()
                known.setdefault(there, None)
                known[there] = known[there] or Page(target.read_text(encoding="utf-8"))
                right = place in known[there].places
            wrong += [] if right else [(name, link)]
    return wrong


def site(capsys, *arguments):
    """Build a site with the guide as a reader does: status and errors."""
    return main(["site", "--guide", *map(str, arguments)]), capsys.readouterr().err


def test_a_guide_stands_in_its_folder_and_a_warning_leaves_no_site(capsys, tmp_path):
    pytest.importorskip("sphinx")
    evidence, out = lay(tmp_path), tmp_path / "site"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "conf.py").write_text("", encoding="utf-8")
    (tmp_path / "docs" / "index.rst").write_text("Guide\n=====\n\n:ref:`nowhere`\n", encoding="utf-8")
    status, told = site(capsys, "--evidence", evidence, "--out", out)
    assert (status, "guide: expected pages without a warning, got" in told, "nowhere" in told) == (2, True, True)
    assert not out.exists()
    (tmp_path / "docs" / "index.rst").write_text("Guide\n=====\n\nAll is well.\n", encoding="utf-8")
    assert site(capsys, "--evidence", evidence, "--out", out) == (0, "")
    assert "All is well." in (out / "docs" / "index.html").read_text(encoding="utf-8")
    assert "docs/index.html" in Page((out / "index.html").read_text(encoding="utf-8")).links
    assert "../docs/index.html" in Page((out / "c" / "sums.two.html").read_text(encoding="utf-8")).links
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []
    assert main(["site", "--evidence", str(evidence), "--out", str(out)]) == 0  # the older site goes, with its guide
    assert not (out / "docs").exists()
    assert "docs/index.html" not in Page((out / "index.html").read_text(encoding="utf-8")).links


def test_the_guide_is_built_without_a_warning_and_leads_nowhere_wrong(capsys, tmp_path, monkeypatch):
    """One test, since two builds at a time would write the same pages."""
    missing = [name for name in OF_SPHINX if find_spec(name) is None]
    if missing:
        pytest.skip(f"the guide needs the extra docs, which has {', '.join(missing)}")
    monkeypatch.chdir(tmp_path)  # it does not matter where
    root = tmp_path.resolve() / "site"
    assert site(capsys, "--evidence", ROOT / "verify" / "evidence", "--out", root) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
    out = root / "docs"
    texts = {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in sorted(out.rglob("*.html"))
    }
    found = {name: Page(text) for name, text in texts.items()}
    assert lost(root, found) == []
    found["docs/index.html"].links += ["../c/no.claim.html", "no.html", "verdict.html#no", "../../verdict.html"]
    assert len(lost(root, found)) == 4
    for door in READ:
        names = {f"{door}.{name}" for name in import_module(door).__all__}
        assert names <= found[f"docs/made/api/{door}.html"].places
    for name, text in texts.items():  # it needs no network
        assert not re.search(r'<(?:script|img|iframe)[^>]*src="?(?:https?:)?//|<link[^>]*href="?http|MathJax', text), (
            name
        )
    assert sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) <= 25_000_000
    assert [path for path in root.rglob("*") if path.is_dir() and not any(path.iterdir())] == []
    travel(root)


def travel(root):
    """Go from the first page of the atlas to a function, a method and a tutorial of the guide, and back to a claim."""
    playwright = pytest.importorskip("playwright.sync_api", reason="journeys need Playwright")
    if CHROMIUM is None:
        pytest.skip("journeys need Chromium")
    with playwright.sync_playwright() as p:
        page = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]).new_page()
        page.set_default_timeout(5000)
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        for words, first, text in WANTED:
            page.goto((root / "index.html").as_uri())
            page.locator(".find input").fill(words)
            page.keyboard.press("Enter")
            page.locator("#in-guide a").first.click()
            assert first in page.url, words
            assert text in page.locator("article").inner_text(), words
        page.locator(".top input").fill("sharp wasserstein lipshitz")  # from a page of the guide
        page.keyboard.press("Enter")
        page.locator("#found a").first.click()
        assert "c/lipschitz.sharp-w1.html" in page.url
        page.locator(".top a:has-text('Guide')").click()
        assert "docs/index.html" in page.url
        assert errors == []
        page.set_viewport_size({"width": 1280, "height": 720})
        for path in [
            *root.glob("docs/*.html"),
            *root.glob("docs/made/*.html"),
            *root.glob("docs/made/tutorials/*.html"),
        ]:
            page.goto(path.as_uri())
            cut = "[...document.querySelectorAll('pre')].filter(pre => pre.scrollWidth > pre.clientWidth).length"
            assert page.evaluate(cut) == 0, path.name
        for place in LOOKED_AT * AXE.is_file():
            page.goto((root / "docs" / place).as_uri())
            page.add_script_tag(path=str(AXE))
            serious = "axe.run().then(done => done.violations.filter(v => ['serious', 'critical'].includes(v.impact)))"
            assert [violation["id"] for violation in page.evaluate(serious)] == [], place
            page.set_viewport_size({"width": 390, "height": 844})
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, place
            page.set_viewport_size({"width": 1280, "height": 720})
