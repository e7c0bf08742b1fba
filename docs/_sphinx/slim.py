"""Pages of the guide in the frame of the atlas, without what neither its sheets nor a reader asks for.

Sphinx marks every word for themes that might want to paint it; of that, what the two style sheets name is kept.
"""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas_links import ROOT

import theory
from theory.site.compact_svg import compact
from theory.site.pages import IN_HEAD, NAMES
from theory.site.terse import terse

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SHEETS = (ROOT / "docs" / "_static" / "guide.css", ROOT / "theory" / "site" / "static" / "style.css")
HAS = {"proofs": True, "figures": True, "guide": True, "notes": [(page, NAMES[page]) for page in IN_HEAD]}
KEPT = ("guide.css",)  # of what Sphinx and its extensions put beside the pages
_LINES = re.compile(r"<(pre|style|script)\b.*?</\1>|\s*\n\s*", re.DOTALL)  # where they count, and where not
_TAG = re.compile(r"<[a-z][^>]*>")
_SPAN = re.compile(r"<span\b[^>]*>|</span>")
_CLASS = re.compile(r' class="([^"]*)"')
_SAID = re.compile(r' title="Link to this \w+"')  # of a sign that stands beside what it leads to
_ROLE = re.compile(r'(?<=<p class="caption") role="heading"')  # of no level
_WIDE = re.compile(r"<(pre|table)\b")
_ZIPPED = re.compile(r'<div class="sphx-glr-download sphx-glr-download-zip[^>]*>.*?</div>', re.DOTALL)


def slim(text: str) -> str:
    r"""Return a piece of a page that looks the same in fewer bytes.

    Examples
    --------
    >>> slim('<ul class="simple"> <li><p><span class="pre">a</span></p></li> </ul>')
    '<ul><li><p>a</ul>'
    """
    text = _ZIPPED.sub("", text).replace("_thumb.svg", "_001.svg")  # which are the same pictures
    text = _WIDE.sub(
        r'<\1 tabindex="0"', _ROLE.sub("", _SAID.sub("", text))
    )  # what scrolls can be reached by the keyboard
    text = _LINES.sub(lambda found: found[0] if found[1] else "\n", text)
    text = _TAG.sub(lambda tag: _CLASS.sub(_named, tag[0]), text)
    text = re.sub(r'(<a [^>]*href="[^"]*#([^"]*)"[^>]*) title="\2"', r"\1", text)
    return terse(_without_spans(text))


@cache
def _names() -> frozenset[str]:
    """Return the classes that the style sheets know."""
    return frozenset(re.findall(r"\.([A-Za-z][\w-]*)", "".join(path.read_text("utf-8") for path in SHEETS)))


def _named(classes: re.Match[str]) -> str:
    kept = [name for name in classes[1].split() if name in _names()]
    return f' class="{" ".join(kept)}"' if kept else ""


def _without_spans(text: str) -> str:
    """Take away spans that say nothing of what is in them."""
    kept: list[bool] = []

    def tag(found: re.Match[str]) -> str:
        if found[0] != "</span>":
            kept.append(found[0] != "<span>")
        return found[0] if (kept.pop() if found[0] == "</span>" else kept[-1]) else ""

    return _SPAN.sub(tag, text)


def _frame(app: "Sphinx", page: str, template: str, context: dict[str, Any], doctree: object) -> None:  # noqa: ARG001
    """Tell the frame of the atlas what it asks for."""
    context |= {name: slim(context[name]) for name in ("body", "toc") if name in context}
    context |= {"up": "../" * (page.count("/") + 1), "has": HAS, "slim": slim}
    context |= {"stamp": f"attention-theory {theory.__version__}"}


def _tidy(app: "Sphinx", error: Exception | None) -> None:
    """Leave out what only other themes need, and what stands elsewhere as well."""
    out = Path(app.outdir)
    for path in out.glob("_static/**/*"):
        if path.is_file() and path.name not in KEPT:
            path.unlink()
    if error is None:
        for path in [*out.glob("_downloads/*/[0-9]_*.zip"), *out.glob("_images/*_thumb.svg")]:
            path.unlink()
        for path in out.glob("genindex.html"):  # which has a template of its own
            path.write_text(slim(path.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
        for path in out.glob("_images/*.svg"):
            path.write_text(compact(path.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
    for folder in sorted((path for path in out.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


def _alone(app: "Sphinx") -> None:
    app.builder.search = False  # the box of the atlas finds the guide, too


def setup(app: "Sphinx") -> dict[str, bool]:
    """Put pages into the frame, and tidy up when all are written."""
    app.connect("builder-inited", _alone)
    app.connect("html-page-context", _frame)
    app.connect("build-finished", _tidy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
