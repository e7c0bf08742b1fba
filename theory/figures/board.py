r"""The verdict board: every claim with its departure, what its kind allows, and how far off its twins are.

A bar ends at the largest departure that the data still allow. A claim is supported if it ends within the shaded band,
which its kind and its nearest twin set, and if every twin stands beyond the left edge, that is, is refuted. The table
is made from the evidence itself, a line per claim and twin.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from theory.evidence import Kind, Table, Verdict
from theory.evidence.judge import reach
from theory.figures import style
from theory.report.archive import ArchiveError, Record, read
from theory.report.digits import at_most

TITLE = "the verdict board: every claim, what it still allows, and its twins"
CLAIMS = ("*",)

_LONGEST = 62  # taken: lines that fill a page
_SHOWN = (1e-20, 1e8)  # taken: what lies beyond stands at the edge, with an arrow
_ROW = 0.148  # inches of a line
_HEAD = 0.95  # inches of the legend and the axis
_APART = 0.0125  # taken: marks nearer than this share of the axis overlap
_LIFT = 0.24  # taken: how far overlapping marks part from the middle of their line, in lines
_MARKS = {"constant": "o", "hypothesis": "^", "bug": "x"}
_NAMES = {"constant": "twin: constant", "hypothesis": "twin: hypothesis", "bug": "twin: bug"}
_MARK: dict[str, Any] = {"markersize": 3.6, "markerfacecolor": "white", "markeredgewidth": 0.7}
_BESIDE: dict[str, Any] = {
    "xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center", "size": style.SMALL,
}  # fmt: skip


def verdicts(*, scale: str, root: int, evidence: Path) -> Table:  # noqa: ARG001  the root is the gate's concern
    """Return a line per claim and twin from the records in the folder ``evidence``, at one scale.

    ``reach`` is the largest departure that the claim may still allow, ``gap`` the least one by which the twin fails;
    ``tightness`` is empty unless the claim is a bound.
    """
    records = [record for record in _readable(evidence) if scale in record.entries]
    lines = [line for record in records for line in _lines(record, scale)]
    names = ("claim", "verdict", "kind", "departure.lo", "departure.hi", "reach", "tightness", "twin", "made_by", "gap")
    text = ("claim", "verdict", "kind", "tightness", "twin", "made_by")
    columns = {
        name: np.array([line[k] for line in lines], dtype=np.str_ if name in text else np.float64)
        for k, name in enumerate(names)
    }
    kind = max((record.entries[scale].kind for record in records), default=Kind.PROVED)
    return Table(kind, dict.fromkeys(names, "1"), columns)


STUDY = verdicts


def _readable(evidence: Path) -> Iterator[Record]:
    for path in sorted(evidence.glob("*.json"), key=lambda path: path.stem):
        with suppress(ArchiveError):  # the gate names what cannot be read
            yield read(path)


def _lines(record: Record, scale: str) -> list[tuple[str | float, ...]]:
    entry = record.entries[scale]
    gap = 0.0 if entry.nearest is None else max(entry.nearest.departure.lo, 0.0)
    common = (
        record.claim.id, entry.verdict.value, entry.kind.name.lower(), entry.departure.lo, entry.departure.hi,
        reach(entry.kind, gap), "" if entry.tightness is None else repr(entry.tightness),
    )  # fmt: skip
    twins = [(twin.id, twin.made_by, twin.departure.lo) for twin in entry.twins] or [("", "", 0.0)]
    return [(*common, *twin) for twin in twins]


def draw(table: Table) -> Figure:
    """Draw a line per claim, grouped by subject; a long board takes two columns."""
    claims = [table.where(claim=name) for name in dict.fromkeys(table["claim"].tolist())]
    lines: list[str | Table] = []
    for part in claims:
        subject = _subject(part)
        if not lines or subject != _subject(lines[-1]):
            lines.append(subject)
        lines.append(part)
    columns = _columns(lines)
    longest = max(map(len, columns))
    figure = style.canvas(style.DOUBLE, longest * _ROW + _HEAD)
    low, high = _range(table)
    for axes, column in zip(figure.subplots(1, len(columns), squeeze=False)[0], columns, strict=True):
        axes.set(xscale="log", xlim=(low, high), ylim=(longest - 0.4, -0.6), yticks=[])
        axes.set_xlabel("departure, in units of the claim's scale")
        axes.grid(axis="x", color=style.PALE, linewidth=0.4)
        axes.set_axisbelow(True)
        axes.annotate("tightness", (1.0, 0.0), (4, 0), ha="left", **_BESIDE)
        for height, line in enumerate(column):
            if isinstance(line, str):
                axes.annotate(line, (0.0, height), (-4, 0), weight="bold", ha="right", **_BESIDE)
            else:
                _claim(axes, height, line, low, high)
    figure.legend(handles=_legend(set(table["kind"].tolist())), loc="outside upper center", ncols=5)
    return figure


def _subject(line: Table | str) -> str:
    return line if isinstance(line, str) else str(line["claim"][0]).partition(".")[0]


def _columns(lines: list[str | Table]) -> list[list[str | Table]]:
    """Split the lines into one or two columns; a column that starts amid a subject repeats its name."""
    if len(lines) <= _LONGEST:
        return [lines or ["no claim"]]
    half = -(-len(lines) // 2)
    rest = lines[half:]
    return [lines[:half], rest if isinstance(rest[0], str) else [_subject(rest[0]), *rest]]


def _range(table: Table) -> tuple[float, float]:
    """Return an axis that shows every positive number of the board within ``_SHOWN``, with room at either end."""
    shown = np.concatenate([table[name] for name in ("departure.hi", "reach", "gap")])
    shown = np.clip(shown[shown > 0.0], *_SHOWN)
    low, high = (float(shown.min()), float(shown.max())) if shown.size else _SHOWN
    return 10.0 ** (np.floor(np.log10(low)) - 1.0), 10.0 ** (np.ceil(np.log10(max(high, 1.0))) + 0.5)


def _claim(axes: Axes, height: int, part: Table, low: float, high: float) -> None:
    fine = part["verdict"][0] == Verdict.SUPPORTED.value
    hue = style.OF_KIND[Kind[str(part["kind"][0]).upper()]]
    ink, verdict = (style.BLACK, "\N{CHECK MARK}") if fine else (style.VERMILION, "\N{BALLOT X}")
    name = str(part["claim"][0]).partition(".")[2]
    axes.annotate(f"{name} {verdict}", (0.0, height), (-4, 0), color=ink, ha="right", **_BESIDE)
    departure, allowed = float(part["departure.hi"][0]), float(part["reach"][0])
    axes.barh(height, allowed - low, left=low, height=0.8, color=style.PALE, linewidth=0)
    if departure > low:
        axes.barh(height, min(departure, high) - low, left=low, height=0.44, color=hue, linewidth=0)
    else:
        axes.plot(low * 1.6, height, "<", color=hue, markersize=3.6, markeredgewidth=0)
    places = np.clip(part["gap"], low * 1.6, high / 1.6)
    lifts = _parted(np.log(places) / np.log(high / low))
    for made_by, gap, place, lift in zip(part["made_by"].tolist(), part["gap"], places, lifts, strict=True):
        if made_by:
            caught = style.BLACK if gap > 0.0 else style.VERMILION
            axes.plot(place, height + lift, _MARKS[made_by], color=caught, **_MARK)
    if max(departure, part["gap"].max()) > high:
        axes.plot(high, height, ">", color=style.GREY, markersize=3.6, clip_on=False, markeredgewidth=0)
    tightness = str(part["tightness"][0])
    if tightness:
        figures = 7 if float(tightness) > 0.9 else 3  # where a bound is nearly attained, the rest is the news
        axes.annotate(at_most(float(tightness), figures=figures), (1.0, height), (4, 0), ha="left", **_BESIDE)


def _parted(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far each mark is lifted so that those that would coincide, along the axis, lie beside each other."""
    order = np.argsort(places, kind="stable")
    clusters = np.split(order, 1 + np.flatnonzero(np.diff(places[order]) >= _APART))
    lifts = np.zeros(places.size)
    for cluster in clusters:
        if cluster.size > 1:
            lifts[cluster] = np.linspace(-_LIFT, _LIFT, cluster.size)
    return lifts


def _legend(kinds: set[str]) -> list[Artist]:
    """Return the entries of five columns, kinds above marks."""
    below: list[Artist] = [
        Patch(color=style.PALE, label="allowed"),
        Line2D([], [], marker="<", linestyle="", markersize=3.6, color=style.GREY, label="no departure"),
        *(
            Line2D([], [], marker=_MARKS[made_by], label=name, color=style.BLACK, linestyle="", **_MARK)
            for made_by, name in _NAMES.items()
        ),
    ]
    above: list[Artist] = [
        Patch(color=hue, label=k.name.lower()) for k, hue in style.OF_KIND.items() if k.name.lower() in kinds
    ]
    above += [Patch(alpha=0.0, label="") for _ in range(len(below) - len(above))]
    return [entry for pair in zip(above, below, strict=True) for entry in pair]
