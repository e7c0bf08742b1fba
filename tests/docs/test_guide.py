"""The guide: every public name is described, every link leads somewhere, and Sphinx has nothing to complain of."""

import doctest
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.test_lazy import DOORS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OF_SPHINX = ("sphinx", "myst_parser", "numpydoc", "pydata_sphinx_theme", "sphinx_gallery", "torch")
READ = sorted(door for door in DOORS if "._" not in door)
TAGS = {"a": "href", "img": "src", "link": "href", "script": "src"}


@pytest.fixture(scope="module")
def pages():
    """Return the module that writes pages, from the folder where Sphinx finds it."""
    sys.path.insert(0, str(DOCS / "_sphinx"))
    yield import_module("made_pages")
    sys.path.remove(str(DOCS / "_sphinx"))


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
def test_the_page_of_a_door_has_all_its_names(pages, door):
    if door.endswith((".torch", ".arms")):
        pytest.importorskip("torch")
    described = re.findall(r"^\.\. (?:py:data|autoclass|autofunction):: ([\w.]+)$", pages.door_page(door), re.MULTILINE)
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


def test_examples_of_a_verdict_run():
    done = doctest.testfile(str(DOCS / "verdict.md"), module_relative=False)
    assert (done.failed, done.attempted >= 8) == (0, True)


def in_the_atlas(place):
    """Return whether the atlas has a page of that name."""
    folder, _, name = place.rpartition("/")
    if folder == "c":
        return (ROOT / "verify" / "evidence" / f"{name.removesuffix('.html')}.json").is_file()
    if folder in ("f", "p"):
        return (
            ROOT / {"f": "figures", "p": "proofs"}[folder] / f"{Path(name).stem}.{'csv' if folder == 'f' else 'md'}"
        ).is_file()
    return place in {"index.html", "browse.html", "proofs.html", "sources.html", "errata.html", "decided-against.html"}


def lost(out, found):
    """Return the links of pages that lead nowhere."""
    wrong = []
    for name, page in found.items():
        for link in page.links:
            path, _, place = link.partition("#")
            if re.match(r"https?:|mailto:|data:", link):
                continue
            target = ((out / name).parent / path.partition("?")[0]).resolve() if path else out / name
            if out in target.parents:
                there = found.get(target.relative_to(out).as_posix())
                right = target.is_file() and (not place or there is None or place in there.places)
            else:
                right = out.parent in target.parents and in_the_atlas(target.relative_to(out.parent).as_posix())
            wrong += [] if right else [(name, link)]
    return wrong


def test_the_guide_is_built_without_a_warning_and_leads_nowhere_wrong(tmp_path):
    """One test, since two builds at a time would write the same pages."""
    missing = [name for name in OF_SPHINX if find_spec(name) is None]
    if missing:
        pytest.skip(f"the guide needs the extra docs, which has {', '.join(missing)}")
    out = tmp_path.resolve() / "site" / "docs"
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-d",
        str(tmp_path / "trees"),
        str(DOCS),
        str(out),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    texts = {path.relative_to(out).as_posix(): path.read_text(encoding="utf-8") for path in sorted(out.rglob("*.html"))}
    found = {name: Page(text) for name, text in texts.items()}
    assert lost(out, found) == []
    found["index.html"].links += ["../c/no.claim.html", "no.html", "verdict.html#no", "../../verdict.html"]
    assert len(lost(out, found)) == 4
    for door in READ:
        assert {f"{door}.{name}" for name in import_module(door).__all__} <= found[f"made/api/{door}.html"].places
    for name, text in texts.items():  # it needs no network
        assert not re.search(r'<(?:script|img|iframe)[^>]*src="(?:https?:)?//|<link[^>]*href="https?:|MathJax', text), (
            name
        )
    assert sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) < 9_000_000
