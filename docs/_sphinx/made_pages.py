"""Pages that nobody types: the API reference from the doors, the figures from their manifest, guides kept elsewhere."""

import ast
import fnmatch
import inspect
import json
import re
from collections import defaultdict
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from atlas_links import CLAIMS, ROOT, lead

from theory.figures import registry

if TYPE_CHECKING:
    from sphinx.application import Sphinx

MADE = Path(__file__).parents[1] / "made"
PACKAGE = ROOT / "theory"
ELSEWHERE = {"contributing": "CONTRIBUTING.md", "known-answers": "reference/README.md"}
LONGEST = 72  # chosen: characters of a value that is shown


@cache
def doors() -> list[str]:
    """Return the doors of the package that readers use, by name."""
    files = [path for path in PACKAGE.rglob("__init__.py") if "open_lazily(__name__)" in path.read_text("utf-8")]
    names = (".".join(("theory", *path.parent.relative_to(PACKAGE).parts)) for path in files)
    return sorted(name for name in names if "._" not in name)


@cache
def _homes() -> dict[object, str]:
    """Return the name under which everything is described: the first of the doors that hand it out tells."""
    found: dict[object, str] = {}
    for door in sorted(doors(), key=lambda name: (name.count("."), name)):
        for name in import_module(door).__all__:
            with suppress(ModuleNotFoundError):  # of an extra: no other door has what needs one
                value = getattr(import_module(door), name)
                if _is_described(value):
                    found.setdefault((value.__module__, value.__qualname__), f"{door}.{name}")
    return found


def _is_described(value: object) -> bool:
    """Return whether a thing has a docstring of its own, as functions and classes have and constants have not."""
    return hasattr(value, "__qualname__") and hasattr(value, "__module__")


def door_page(door: str) -> str:
    """Return the page of a door in reStructuredText."""
    names = import_module(door).__all__
    whole = [line for name in names for line in _entry(door, name)]
    lines = [door, "=" * len(door), "", inspect.getdoc(import_module(door)) or "", "", f".. py:module:: {door}", ""]
    return "\n".join([*lines, *whole]) + "\n"


def _entry(door: str, name: str) -> list[str]:
    value = getattr(import_module(door), name)
    full = f"{door}.{name}"
    if not _is_described(value):
        shown = repr(value)
        short = len(shown) <= LONGEST and "\n" not in shown and " at 0x" not in shown
        return [f".. py:data:: {name}", *([f"   :value: {shown}"] if short else []), "", f"   {_of(value)}", ""]
    home = _homes()[value.__module__, value.__qualname__]
    if home != full:
        return [f".. py:data:: {name}", "   :no-index-entry:", "", f"   The same as :py:obj:`{home}`.", ""]
    kind = "class" if inspect.isclass(value) else "function"
    return [f".. auto{kind}:: {full}", *(["   :members:"] if kind == "class" else []), ""]


def _of(value: object) -> str:
    kind = type(value).__name__
    return f"{'An' if kind[0] in 'aeiou' else 'A'} ``{kind}``."


def reference_pages() -> dict[str, str]:
    """Return the API reference, by the place of a page."""
    rows = [line for door in doors() for line in _row(door)]
    top = [
        "API reference", "=============", "",
        "Every public name stands in a door, the ``__init__`` of a folder of the package, and is loaded when it is",
        "first asked for. All names in alphabetical order are in the :ref:`index <genindex>`.", "",
        ".. list-table::", "   :header-rows: 1", "   :widths: 34 56 10", "",
        "   * - door", "     - what is behind it", "     - names", *rows, "",
        ".. toctree::", "   :hidden:", "   :maxdepth: 1", "", *(f"   {door}" for door in doors()), "",
    ]  # fmt: skip
    return {"api/index.rst": "\n".join(top)} | {f"api/{door}.rst": door_page(door) for door in doors()}


def _row(door: str) -> list[str]:
    module = import_module(door)
    first = (inspect.getdoc(module) or "").partition("\n\n")[0].replace("\n", " ")
    return [f"   * - :doc:`{door}`", f"     - {first}", f"     - {len(module.__all__)}"]


def figure_pages() -> dict[str, str]:
    """Return the gallery, a page for each subject of figures, by the place of a page."""
    listed = json.loads((ROOT / "figures" / "manifest.json").read_text(encoding="utf-8"))
    titles = registry.titles()
    subjects: dict[str, list[str]] = defaultdict(list)
    for path in sorted((PACKAGE / "figures").glob("*/*.py")):
        if path.stem in listed and "\nTITLE = " in path.read_text(encoding="utf-8"):
            subjects[path.parent.name].append(path.stem)
    top = [
        "Gallery", "=======", "",
        "Each figure is drawn from the table on which its claims were judged, and a picture leads to that table. Under",
        "each heading a page says what the figures show and which claims stand behind them.", "",
        *(line for subject, names in subjects.items() for line in _group(subject, names, titles)),
        ".. toctree::", "   :hidden:", "   :maxdepth: 1", "", *(f"   {subject}" for subject in subjects), "",
    ]  # fmt: skip
    pages = {"gallery/index.rst": "\n".join(top)}
    for subject, names in subjects.items():
        shown = [line for name in names for line in _figure(subject, name, titles[name], listed[name])]
        pages[f"gallery/{subject}.rst"] = "\n".join([*_heading(_about(subject), "="), *shown])
    return pages


def _group(subject: str, names: list[str], titles: dict[str, str]) -> list[str]:
    more = (
        f":doc:`{len(names)} with captions and claims <{subject}>`" if len(names) > 1 else f":doc:`caption <{subject}>`"
    )
    return [*_heading(_about(subject), "-"), *_cards(names, titles), more, ""]


def _about(subject: str) -> str:
    """Return what a folder of figures is about, as a heading."""
    said = _docstring(PACKAGE / "figures" / subject / "__init__.py").partition("\n")[0]
    return _capital(said.removeprefix("Figures of ").rstrip("."))


def _docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def _heading(text: str, line: str) -> list[str]:
    return [text, line * len(text), ""]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _picture(name: str) -> str:
    """Return a picture of the atlas, which leads to the page of the figure there."""
    return f'<a href="../../../f/{name}.html"><img src="../../../f/{name}.svg" alt="figure {name}" loading="lazy">'


def _cards(names: list[str], titles: dict[str, str]) -> list[str]:
    shown = [f"   {_picture(name)}<span>{_capital(titles[name])}</span></a>" for name in names]
    return [".. raw:: html", "", '   <div class="cards">', *shown, "   </div>", ""]


def _figure(subject: str, name: str, title: str, entry: dict[str, list[str]]) -> list[str]:
    claims = sorted(c for c in CLAIMS if any(fnmatch.fnmatchcase(c, pattern) for pattern in entry["claims"]))
    if len(claims) == len(CLAIMS):
        judged = "Judged on its table: all claims."
    else:
        judged = (
            f"Judged on its table: {', '.join(f'``{claim}``' for claim in claims) or 'no claim; it states nothing'}."
        )
    return [
        *_heading(_capital(title), "-"),
        ".. raw:: html", "", f'   <div class="picture">{_picture(name)}</a></div>', "",
        _docstring(PACKAGE / "figures" / subject / f"{name}.py"), "",
        *(f"| {_mathematics(text)}" for text in entry["caption"]), "",
        judged, "",
    ]  # fmt: skip


def _mathematics(text: str) -> str:
    """Return a caption, whose formulas stand between dollars, in reStructuredText."""
    pieces = re.split(r"\$([^$]*)\$", text.replace("*", r"\*"))
    return "".join(rf":math:`{piece}`\ " if k % 2 else piece for k, piece in enumerate(pieces))


def _write() -> None:
    pages = reference_pages() | figure_pages()
    pages |= {f"{name}.md": lead((ROOT / path).read_text(encoding="utf-8"), path) for name, path in ELSEWHERE.items()}
    for folder in ("api", "gallery"):
        for path in sorted((MADE / folder).glob("*")):
            if path.relative_to(MADE).as_posix() not in pages:
                path.unlink()
    for place, text in pages.items():
        path = MADE / place
        if not path.is_file() or path.read_text(encoding="utf-8") != text:  # an unchanged page is not read again
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")


def _say_type(_app: "Sphinx", _what: str, name: str, _value: object, _options: object, lines: list[str]) -> None:
    """Give a field of a named tuple its type, where Python has no more to say than its number."""
    if lines and lines[0].startswith("Alias for field number"):
        holder, _, field = name.rpartition(".")
        door, _, kind = holder.rpartition(".")
        fields = [vars(one).get("__annotations__", {}) for one in getattr(import_module(door), kind).__mro__]
        annotation = next(types[field] for types in fields if field in types)
        lines[:] = [f"``{getattr(annotation, '__forward_arg__', annotation)}``"]


def setup(app: "Sphinx") -> dict[str, bool]:
    """Write the pages before Sphinx looks for any."""
    app.connect("config-inited", lambda app, config: _write())  # noqa: ARG005  the names that Sphinx gives
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _say_type)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
