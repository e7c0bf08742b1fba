"""What the box of the atlas finds in the guide: every page by its words, every public name by its first sentence."""

import json
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from sphinx import addnodes

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

NAME = "found.js"
_SCRIPT = """globalThis.GUIDE = %s.flatMap(([page, start, names]) =>
  [page, ...names.map(([name, words, subject]) => ({ id: start + name, words, subject }))]);
"""
_WORD = re.compile(r"[A-Za-z]{3,}")


def _read(app: "Sphinx", doctree: "nodes.document", page: str) -> None:
    """Note what a page says of itself and of the names that it describes."""
    place, title = app.builder.get_target_uri(page), app.env.titles[page].astext()
    found = [_of(desc, place) for desc in doctree.findall(addnodes.desc) if _is_described(desc)]
    words = dict.fromkeys(_WORD.findall(doctree.astext().lower())) if not found else ()
    _entries(app)[page] = [{"id": place, "words": title, "subject": "guide", "more": " ".join(words)}, *found]


def _is_described(desc: addnodes.desc) -> bool:
    """Return whether a name is described here, and not only said to be the same as another."""
    return desc["domain"] == "py" and not desc.get("no-index-entry") and bool(desc[0]["ids"])


def _of(desc: addnodes.desc, place: str) -> dict[str, Any]:
    name = desc[0]["ids"][0]
    said = re.split(r"(?<=\w[.;:])\s", _text(desc[1]), maxsplit=1)[0].rstrip(".;: ")
    return {"id": f"{place}#{name}", "words": said, "subject": desc["objtype"]}


def _text(content: "nodes.Element") -> str:
    """Return the first paragraph, without formulas that only a page can show."""
    from docutils import nodes  # noqa: PLC0415  as in the modules beside

    paragraph = next(content.findall(nodes.paragraph), None)
    if paragraph is None:
        return ""
    pieces = (
        "\u2026" if isinstance(leaf.parent, nodes.math) and "\\" in leaf.astext() else leaf.astext()
        for leaf in paragraph.findall(nodes.Text)
    )
    return " ".join("".join(pieces).split())


def _entries(app: "Sphinx") -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = app.env.__dict__.setdefault("found_in_pages", {})
    return found


def _write(app: "Sphinx", error: Exception | None) -> None:
    if error is None:
        whole = [_folded(_entries(app)[page]) for page in sorted(_entries(app))]
        text = json.dumps(whole, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
        (Path(app.outdir) / NAME).write_text(_SCRIPT % text, encoding="utf-8", newline="\n")


def _folded(entries: list[dict[str, Any]]) -> list[Any]:
    """Return a page and the names on it with what their places begin with alike written once."""
    page, *names = entries
    start = f"{page['id']}#{PurePosixPath(page['id']).stem}."
    start = start if all(name["id"].startswith(start) for name in names) else ""
    rows = [[name["id"].removeprefix(start), name["words"], name["subject"]] for name in names]
    return [page, start, rows]


def setup(app: "Sphinx") -> dict[str, bool]:
    """Read pages when they are resolved, and write the script when all are there."""
    app.connect("doctree-resolved", _read)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
