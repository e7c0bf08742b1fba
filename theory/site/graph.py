"""Which claim a proof uses, as a picture of a subject: what is used stands left of what uses it, each a link."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from markupsafe import Markup

from theory.report.proofs import Proof

_SWEEPS = 8  # chosen: how often the columns are put in order again
_ROW = 28
_LETTER = 7.3  # width of a letter of the style sheet's code, rounded up
_GAP = 56  # between columns
_HEIGHT = 20


def arrows_of(claims: Sequence[str], proofs: Mapping[str, Proof]) -> list[tuple[str, str]]:
    """Return what is used and what uses it, for all proofs that have to do with some claims.

    Examples
    --------
    >>> arrows_of(["a.b"], {"a.b": Proof("a", ("c.d",), ("lemma-e",), refereed=False, formal="")})
    [('lemma-e', 'a.b'), ('c.d', 'a.b')]
    """
    inside = set(claims)
    within = [(name, proofs[name]) for name in claims if name in proofs]
    arrows = [(lemma, name) for name, proof in within for lemma in proof.lemmas]
    arrows += [(used, name) for name, proof in proofs.items() for used in proof.uses if inside & {used, name}]
    return arrows


def levels_of(arrows: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Return how far right everything stands: one further than all that it uses.

    Raises
    ------
    ValueError
        If a proof rests on itself.

    Examples
    --------
    >>> levels_of([("a", "b"), ("b", "c"), ("a", "c")])
    {'a': 0, 'b': 1, 'c': 2}
    """
    uses: dict[str, list[str]] = {}
    for used, user in arrows:
        uses.setdefault(used, [])
        uses.setdefault(user, []).append(used)
    open_: list[str] = []

    @cache
    def level(name: str) -> int:
        if name in open_:
            raise ValueError(f"proofs: expected none that rests on itself, got {' of '.join([*open_, name])}")
        open_.append(name)
        found = max((1 + level(used) for used in uses[name]), default=0)
        open_.pop()
        return found

    return {name: level(name) for name in uses}


def draw_graph(subject: str, arrows: Sequence[tuple[str, str]], hrefs: Mapping[str, str]) -> Markup:
    """Draw the arrows of a subject as SVG; names of the subject itself are short.

    Parameters
    ----------
    subject : str
        Whose claims stand out.
    arrows : sequence
        What is used, and what uses it.
    hrefs : mapping
        Where the name of a claim or a lemma leads.
    """
    columns = _columns(arrows)
    shown = {name: name.removeprefix(subject) for column in columns for name in column}
    widths = [max(len(shown[name]) for name in column) * _LETTER + 14 for column in columns]
    tallest = max(len(column) for column in columns)
    places: dict[str, tuple[float, float, float]] = {}
    left = 1.0
    for column, width in zip(columns, widths, strict=True):
        top = (tallest - len(column)) * _ROW / 2
        places |= {name: (left, top + k * _ROW + _ROW / 2, width) for k, name in enumerate(column)}
        left += width + _GAP
    lines = Markup("").join(_line(places[used], places[user]) for used, user in arrows)
    boxes = Markup("").join(_box(shown[name], hrefs[name], place) for name, place in places.items())
    return Markup(
        '<svg class="graph" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="group" aria-label="{2}"><defs>'
        '<marker id="tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M0 0l6 3-6 3z"/></marker></defs><g class="arrows">{3}</g>{4}</svg>'
    ).format(f"{left - _GAP + 2:.0f}", f"{tallest * _ROW:.0f}", f"what the proofs of {subject} use", lines, boxes)


def _columns(arrows: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return the names by columns, each near the middle of what it has arrows to, so that few arrows cross."""
    levels = levels_of(arrows)
    columns: list[list[str]] = [[] for _ in range(max(levels.values()) + 1)]
    for name, level in levels.items():
        columns[level].append(name)
    near: dict[str, list[str]] = {name: [] for name in levels}
    for used, user in arrows:
        near[used].append(user)
        near[user].append(used)
    for sweep in range(_SWEEPS):
        height = {name: (k + 0.5) / len(column) for column in columns for k, name in enumerate(column)}
        for column in columns if sweep % 2 else columns[::-1]:
            column.sort(key=lambda name: sum(height[other] for other in near[name]) / len(near[name]))
            height |= {name: (k + 0.5) / len(column) for k, name in enumerate(column)}
    return columns


def _line(used: tuple[float, float, float], user: tuple[float, float, float]) -> Markup:
    start, end = used[0] + used[2], user[0] - 1
    middle = (start + end) / 2 if end - start <= _GAP else end - _GAP / 2
    return Markup('<path d="M{} {}C{} {} {} {} {} {}"/>').format(
        *(f"{value:.0f}" for value in (start, used[1], middle, used[1], middle, user[1], end, user[1]))
    )


def _box(text: str, href: str, place: tuple[float, float, float]) -> Markup:
    x, y, width = place
    sort = "lemma" if text.startswith("lemma-") else "own" if text.startswith(".") else "other"
    return Markup(
        '<a href="{}" class="{}"><rect x="{}" y="{}" width="{}" height="{}" rx="3"/><text x="{}" y="{}">{}</text></a>'
    ).format(
        href,
        sort,
        f"{x:.0f}",
        f"{y - _HEIGHT / 2:.0f}",
        f"{width:.0f}",
        str(_HEIGHT),
        f"{x + 7:.0f}",
        f"{y + 4:.0f}",
        text,
    )
