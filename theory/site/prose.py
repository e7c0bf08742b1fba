"""Markdown of the repository as HTML: formulas as MathML, claims and files linked to pages, anchors on headings."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.token import Token
from markupsafe import Markup
from mdit_py_plugins.dollarmath import dollarmath_plugin

from theory.report.proofs import resolve
from theory.site.formulas import formula, lowered

_CODE = re.compile(r"<code>([^<]*)</code>")


@dataclass(frozen=True, slots=True)
class Links:
    """Where a page may lead.

    Parameters
    ----------
    claims : collection of str
        The claims that have a page.
    files : mapping
        Pages, as seen from the root of the site, of files, as seen from the root of the repository.
    """

    claims: Collection[str]
    files: Mapping[str, str]


def render(text: str, links: Links, source: str, up: str = "") -> Markup:
    """Return Markdown as HTML.

    Parameters
    ----------
    text : str
        The Markdown.
    links : Links
        Where it may lead; a link to anything else in the repository becomes plain text.
    source : str
        The file it is from, as seen from the root of the repository.
    up : str
        The way from the page to the root of the site: empty, or ``../``.

    Raises
    ------
    ValueError
        If a formula cannot be converted.
    """
    reader = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin, allow_digits=True, renderer=_formula)
    reader.add_render_rule("text", _text)
    tokens = reader.parse(_apart(text))
    for token in tokens:
        if token.children:
            token.children = _linked(token.children, links, source, up)
    _anchor(tokens)
    made = reader.renderer.render(tokens, reader.options, {})
    made = made.replace('<div class="math block">', '<div class="math block" tabindex="0">')  # it may scroll
    made = re.sub(r'<span class="math inline">(<math>.*?</math>)</span>', r"\1", made)
    return Markup(_name_claims(made, links, up))  # noqa: S704  made by a renderer that escapes, from our own files


def _apart(text: str) -> str:
    """Set displayed formulas apart from the line above, as they are on GitHub; the reader wants a blank line there."""
    pieces = text.split("$$")
    outside = [f"{piece}\n" if re.search(r"[^\n]\n\Z", piece) else piece for piece in pieces[:-1:2]]
    pieces[:-1:2] = outside
    return "$$".join(pieces)


def _text(_: RendererProtocol, tokens: Sequence[Token], place: int, _options: object, _env: object) -> str:
    return str(lowered(tokens[place].content))


def _formula(source: str, options: Mapping[str, bool]) -> str:
    return str(formula(" ".join(source.split()), display=options["display_mode"]))


def _linked(children: list[Token], links: Links, source: str, up: str) -> list[Token]:
    """Lead links to pages and pictures to files, and take away those that lead nowhere."""
    kept: list[Token] = []
    dropped: list[bool] = []
    for k, token in enumerate(children):
        if token.type == "link_open":
            label = children[k + 1].content if k + 1 < len(children) else ""
            target = _target(str(token.attrs["href"]), label, links, source, up)
            dropped.append(target is None)
            token.attrs["href"] = target or ""
        if token.type == "image":
            picture = _target(str(token.attrs["src"]), "", links, source, up)
            token.attrs["src"] = picture or ""
            kept += [token] if picture else []
        elif token.type not in ("link_open", "link_close") or not dropped[-1]:
            kept.append(token)
        if token.type == "link_close":
            dropped.pop()
    return kept


def _target(href: str, label: str, links: Links, source: str, up: str) -> str | None:
    if re.match(r"https?://", href):
        return href
    path, _, place = href.partition("#")
    if not path:
        return f"#{place}"
    page = links.files.get(posixpath.normpath(posixpath.join(posixpath.dirname(source), path)))
    if page is None:
        return None
    anchor = place or (label.strip("`") if label.strip("`") in links.claims else "")
    return f"{up}{page}{'#' if anchor else ''}{anchor}"


def _anchor(tokens: list[Token]) -> None:
    """Give every heading below the first level an anchor: its text if that is a name, else a name made of it."""
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open" and opening.tag != "h1":
            opening.attrs["id"] = slug(inline.content)


def slug(text: str) -> str:
    """Return a name for an anchor, made of a heading.

    Examples
    --------
    >>> slug("markov.rows"), slug("Errata found in the papers")
    ('markov.rows', 'errata-found-in-the-papers')
    """
    return re.sub(r"[^a-z0-9.]+", "-", text.lower().replace("`", "").replace("'", " prime")).strip("-")


def _name_claims(made: str, links: Links, up: str) -> str:
    """Link every claim that is named as code, unless it stands in a link already."""
    spans = _CODE.findall(made)
    named = iter(resolve(spans, links.claims))

    def page(span: re.Match[str]) -> str:
        claim = next(named)
        before = made[: span.start()]
        inside = before.rfind("<a ") > before.rfind("</a>")
        return span[0] if claim is None or inside else f'<a href="{up}c/{claim}.html">{span[0]}</a>'

    return _CODE.sub(page, made)
