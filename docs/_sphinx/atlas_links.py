"""Ways from the guide to the atlas, which lies one folder above it: claims named as code, and files that it shows."""

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
CLAIMS = frozenset(path.stem for path in (ROOT / "verify" / "evidence").glob("*.json"))
_LINK = re.compile(r"\]\(([^)\s:]+)\)")
_FILES = {
    "README.md": "atlas:index.html",
    "paper_notes.md": "atlas:decided-against.html",
    "proofs/README.md": "atlas:proofs.html",
    "CONTRIBUTING.md": "/made/contributing.md",
    "reference/README.md": "/made/known-answers.md",
}  # where a reader finds what the repository keeps outside of docs/


def lead(text: str, source: str) -> str:
    """Lead the links of a Markdown file of the repository to pages; what has none becomes plain text.

    Parameters
    ----------
    text : str
        The Markdown.
    source : str
        The file that it is from, as seen from the root of the repository.
    """
    text = re.sub(r"\n\n```$", "\n```", text, flags=re.MULTILINE)  # the empty line that ends a doctest
    pieces = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(piece if k % 2 else _lead(piece, source) for k, piece in enumerate(pieces))


def _lead(text: str, source: str) -> str:
    def page(link: re.Match[str]) -> str:
        path, _, place = link[1].partition("#")
        target = _target(posixpath.normpath(posixpath.join(posixpath.dirname(source), path)) if path else "")
        return f"]({target}{'#' * bool(place)}{place})" if target is not None else f"]({NOWHERE})"

    return re.sub(rf"\[([^\]]*)\]\({NOWHERE}\)", r"\1", _LINK.sub(page, text))


NOWHERE = "nowhere"


def _target(path: str) -> str | None:
    if not path:
        return ""
    if path in _FILES:
        return _FILES[path]
    if path.startswith("proofs/") and path.endswith(".md"):
        return f"atlas:p/{Path(path).stem}.html"
    if path.startswith("docs/notes/"):  # which the atlas shows whole
        return "atlas:decided-against.html"
    return f"/{path.removeprefix('docs/')}" if path.startswith("docs/") and (ROOT / path).is_file() else None


def _read(app: "Sphinx", docname: str, content: list[str]) -> None:
    if app.env.doc2path(docname).suffix == ".md" and not docname.startswith("made/"):
        content[0] = lead(content[0], f"docs/{docname}.md")


def _resolve(app: "Sphinx", doctree: "nodes.document", docname: str) -> None:
    """Give links to the atlas the way from this page, and lead every claim that is named as code to its page."""
    from docutils import nodes  # noqa: PLC0415  tests read the rest of this module without it

    page = app.builder.get_target_uri(docname)
    up = "../" * (page.count("/") + 1)
    for link in doctree.findall(nodes.reference):
        if link.get("refuri", "").startswith("atlas:"):
            link["refuri"] = up + link["refuri"].removeprefix("atlas:")
    for code in list(doctree.findall(nodes.literal)):
        inside = any(isinstance(above, nodes.reference | nodes.title) for above in _above(code))
        if code.astext() in CLAIMS and not inside:
            link = nodes.reference("", "", code.deepcopy(), refuri=f"{up}c/{code.astext()}.html", internal=True)
            code.replace_self(link)


def _above(node: "nodes.Node") -> list["nodes.Node"]:
    return [] if node.parent is None else [node.parent, *_above(node.parent)]


def setup(app: "Sphinx") -> dict[str, bool]:
    """Read links of Markdown, and resolve those to the atlas."""
    app.connect("source-read", _read)
    app.connect("doctree-resolved", _resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
