"""Ten journeys of three readers through the site, in a browser that reads it from a folder, and what the pages are.

One reader wants to cite, one a constant for a layer, one to add a theorem. A journey counts what is clicked, pressed
or typed, and may take no more than a reader has patience for. Needs Playwright and a Chromium (``CHROMIUM``, or one on
the path); the audit needs ``axe.min.js`` of axe-core, whose place ``AXE`` names.
"""

import json
import os
import re
import shutil
import time
from pathlib import Path

import pytest

from theory.site.material import read_material
from theory.site.pages import pages

ROOT = Path(__file__).parents[2]
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
AXE = Path(os.environ.get("AXE", ROOT / "node_modules" / "axe-core" / "axe.min.js"))
SECONDS = 10.0  # of a journey, while others use the processor
PAGES = (
    "index.html", "browse.html", "c/lipschitz.sharp-w1.html", "c/entmax.support.html", "sources.html", "figures.html",
    "s/castin2024.html", "f/tightness.html", "proofs.html", "p/softmax.html", "uses.html", "u/lipschitz.html",
    "notation.html", "open.html", "errata.html", "facets.html", "g/glossary.html",
    "t/verify.lipschitz.test_refined_constants.html",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="journeys need Playwright")
    if CHROMIUM is None:
        pytest.skip("journeys need Chromium")
    with playwright.sync_playwright() as p:
        started = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


class Traveller:
    """Somebody at the first page, who counts what is done."""

    def __init__(self, browser, atlas, **settings):
        self.page = browser.new_context(**settings).new_page()
        self.page.set_default_timeout(5000)
        self.errors = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto((atlas / "index.html").as_uri())
        self.steps, self.start = 0, time.perf_counter()

    def click(self, selector):
        """Click on the first of what is meant."""
        self.steps += 1
        self.page.locator(selector).first.click()

    def find(self, words):
        """Type words and press Enter."""
        self.steps += 1
        self.page.locator(".find input").fill(words)
        self.page.keyboard.press("Enter")

    def choose(self, facet, value):
        """Choose from a list."""
        self.steps += 1
        self.page.locator(f"select[name={facet}]").select_option(value)

    def arrive(self, place, text, steps):
        """Be at the right place, with what was wanted in sight, after few steps and soon."""
        assert place in self.page.url
        assert text in self.page.locator("main").inner_text(), self.page.url
        assert self.steps <= steps
        assert time.perf_counter() - self.start < SECONDS
        assert self.errors == []
        self.page.context.close()


@pytest.fixture
def reader(browser, atlas):
    return Traveller(browser, atlas)


def test_somebody_who_cites_searches_and_copies_bibtex(reader):
    reader.find("sharp wasserstein lipshitz")
    reader.click("#found a")
    reader.click("summary:has-text('BibTeX')")
    reader.page.wait_for_selector("details[data-keys] pre")
    reader.arrive("c/lipschitz.sharp-w1.html", "@inproceedings{castin2024", steps=3)


def test_somebody_who_cites_copies_a_line_of_latex(browser, atlas):
    reader = Traveller(browser, atlas, permissions=["clipboard-read", "clipboard-write"])
    reader.click(".famous a[href*='lipschitz.sharp-w1']")
    reader.click("summary:has-text('LaTeX')")
    reader.click("details[open] .copy")
    reader.page.wait_for_selector("button:has-text('Copied')")
    assert reader.page.evaluate("String(getSelection())").startswith(r"Claim \texttt{lipschitz.sharp-w1}")
    reader.arrive("c/lipschitz.sharp-w1.html", "Copied", steps=3)


def test_somebody_who_cites_looks_what_became_of_a_paper(reader):
    reader.click("nav a:has-text('Sources')")
    reader.click("a[href='s/castin2024.html']")
    reader.click("main a[href*='c/lipschitz.sharp-w1']")
    reader.arrive("c/lipschitz.sharp-w1.html", "Castin et al. 2024", steps=3)


def test_somebody_with_a_layer_finds_a_constant_and_its_proof(reader):
    reader.find("entmax support")
    reader.click("#found a")
    reader.click("a.go")
    reader.arrive("p/entmax.html#entmax.support", "Statement", steps=3)


def test_somebody_with_a_layer_narrows_a_list(reader):
    reader.click("nav a:has-text('Claims')")
    reader.choose("subject", "certificate")
    reader.choose("verdict", "supported")
    reader.click("#found a[href*='certificate.valid']")
    reader.arrive("c/certificate.valid.html", "pytest verify/lipschitz", steps=4)


def test_somebody_without_javascript_finds_a_constant(browser, atlas):
    reader = Traveller(browser, atlas, java_script_enabled=False)
    reader.click(".board dt a:has-text('lipschitz')")
    reader.click("#lipschitz a[href*='lipschitz.refined-w2']")
    reader.arrive("c/lipschitz.refined-w2.html", "How far it was decided".upper(), steps=2)


def test_somebody_on_a_phone_comes_from_a_figure(browser, atlas):
    reader = Traveller(browser, atlas, viewport={"width": 390, "height": 844})
    for place in PAGES[:12]:
        reader.page.goto((atlas / place).as_uri())
        wide = reader.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390, place  # nothing makes the page wider than the phone
    reader.page.goto((atlas / "index.html").as_uri())
    reader.start = time.perf_counter()
    reader.click("nav a:has-text('Figures')")
    reader.click("a[href='f/tightness.html']")
    reader.click("main a[href*='c/lipschitz.sharp-w1']")
    reader.arrive("c/lipschitz.sharp-w1.html", "Derived for this suite", steps=3)


def test_somebody_who_adds_a_theorem_reads_the_code_of_a_check(reader):
    reader.find("maxent.gibbs")
    reader.click("#found a")
    reader.click("a:has-text('The code of the check')")
    reader.arrive("#maxent.gibbs", "@verifies", steps=3)


def test_somebody_who_adds_a_theorem_sees_what_rests_on_what(reader):
    reader.click("a[href='uses.html']")
    reader.click("a[href='u/lipschitz.html']")
    reader.click("svg a[href*='c/lipschitz.sharp-w1']")
    reader.arrive("c/lipschitz.sharp-w1.html", "certificate.valid", steps=3)


def test_somebody_who_adds_a_theorem_looks_for_what_is_open(reader):
    reader.click("nav a:has-text('Open')")
    reader.click("main a[href*='p/chaos.html#chaos.tagged']")
    reader.arrive("p/chaos.html#chaos.tagged", "The remainder", steps=2)


@pytest.mark.parametrize("guide", [False, True])
def test_the_first_link_that_a_search_shows_is_the_claim(browser, atlas, tmp_path, guide):
    place = atlas
    if guide:  # a page as it is beside a guide, which knows a name with these words
        place = Path(shutil.copytree(atlas, tmp_path / "atlas", ignore=shutil.ignore_patterns("r", "f", "t", "p")))
        (place / "docs").mkdir()
        entry = {"id": "api#theory.w1", "words": "sharp lipschitz constant of wasserstein", "subject": "function"}
        (place / "docs" / "found.js").write_text(f"globalThis.GUIDE = [{json.dumps(entry)}];\n", encoding="utf-8")
        made = pages(read_material(ROOT / "verify" / "evidence", ROOT / "paper_notes.md"), guide=True)
        (place / "browse.html").write_text(next(text for name, text in made if name == "browse.html"), "utf-8")
    page = browser.new_context().new_page()
    page.goto((place / "browse.html").as_uri() + "?q=wasserstein sharp lipshitz")
    links = page.locator("main a:visible")
    assert links.first.get_attribute("href") == "c/lipschitz.sharp-w1.html"
    assert (links.last.get_attribute("href") == "docs/api#theory.w1") == guide
    assert ("in the guide below" in page.locator("output").inner_text()) == guide
    page.context.close()


def test_an_index_stands_low_whatever_fonts_there_are(browser, atlas):
    page = browser.new_context().new_page()
    page.goto((atlas / "c" / "lipschitz.sharp-w1.html").as_uri())
    page.evaluate("document.fonts.ready")
    assert page.evaluate("[...document.fonts].map(font => font.status)") == ["loaded"]
    low = """
      [...document.querySelectorAll(".statement msub")].map(sub => {
        const [base, index] = [...sub.children].map(child => child.getBoundingClientRect());
        return (index.bottom - base.bottom) / base.height;
      })"""
    found = page.evaluate(low)
    page.context.close()
    assert len(found) > 4
    assert min(found) > 0.1


def test_pages_are_what_the_standard_says(atlas):
    html5lib = pytest.importorskip("html5lib", reason="parsing by the standard needs html5lib")
    for place in [*PAGES, *(f"c/{path.name}" for path in sorted((atlas / "c").iterdir())[::100])]:
        html5lib.HTMLParser(strict=True).parse((atlas / place).read_text(encoding="utf-8"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_audit_finds_nothing_serious(browser, atlas, scheme):
    if not AXE.is_file():
        pytest.skip("the audit needs axe-core (AXE names its axe.min.js)")
    page = browser.new_context(color_scheme=scheme).new_page()
    found = []
    for place in PAGES[::2] if scheme == "dark" else PAGES:
        page.goto((atlas / place).as_uri())
        page.add_script_tag(path=str(AXE))
        for violation in page.evaluate("axe.run().then(done => done.violations)"):
            if violation["impact"] in ("serious", "critical"):
                nodes = [node["html"][:120] for node in violation["nodes"][:2]]
                found.append((place, violation["id"], len(violation["nodes"]), nodes))
    page.context.close()
    assert found == []


def test_pictures_say_what_they_are_of_and_keep_their_names_apart(atlas):
    """A name that a picture uses is defined in it, and once."""
    for path in (atlas / "f").glob("*.svg"):
        text = path.read_text(encoding="utf-8")
        ids = re.findall(r' id="([^"]*)"', text)
        assert len(ids) == len(set(ids)), path.name
        assert set(re.findall(r'(?:href="|url\()#([^")]+)', text)) <= set(ids), path.name
