r"""The verdict board: how many claims each subject has, how near each is to its limit, its nearest twin, its tightness.

A row is a subject and a mark is a claim. A bar counts the claims by their
kinds. A mark of the second panel ends the departures that the data still allow in the part of the claim that comes
nearest to its limit: a claim is supported if it stands within the band, at no more than its kind and its nearest twin
allow, and if every part and every twin is refuted somewhere. The third panel shows
by how much this twin fails, in the claim's own scale; over what is allowed it would be one hundred, or two for trends
and statistics, whenever it is below one, for that is the rule. The last panel shows how far each bound is from being
attained. Marks that would coincide part within their row. A ring is around those whose statement is proved whole by a
theorem that Coq checks, which is not about the code, and no part of a verdict. A claim that is not supported has a row
of its own and is named there, so the board fits a page as long as the claims hold, however many they are, and grows
with those that fail.
A claim that states another verdict, and finds it, is a result: black, in the row of its subject, and not among those
that the first panel counts as supported.

The table is made from the evidence itself, a line per claim and twin, of which the figure draws the nearest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from theory.evidence import Kind, Table, Verdict
from theory.evidence.judge import Part
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.figures._style.beeswarm import ROW, LogAxis, Spot, place_marks, row_heights
from theory.report.archive import ArchiveError, Record, read, record_paths
from theory.report.proofs import NONE, Proof, read_proofs

TITLE = "the verdict board: every claim, what it still allows, and its twins"
CLAIMS = ("*",)

_HEAD = 0.9  # inches of the legend, the titles and the axes
_COUNTS = 0.8  # inches of the first panel
_PANELS = (
    LogAxis("departure / allowed", -15, 2, 3, 2.05, (5, 2)),
    LogAxis("nearest twin's gap", -6, 3, 3, 1.25, (2, 3)),
    LogAxis(r"$|1-{}$tightness$|$", -16, 0, 4, 1.25, (2, 1)),
)
_STATED = ", as stated"
_MARK: dict[str, Any] = {"markersize": 2.2, "markeredgewidth": 0.35, "linestyle": "", "clip_on": False}
_RING: dict[str, Any] = {
    "marker": "o", "markerfacecolor": "none", "markeredgecolor": style.BLACK, "markersize": 3.7,
    "markeredgewidth": 0.45, "linestyle": "", "clip_on": False,
}  # fmt: skip
_FAULT: dict[str, Any] = {"markersize": 4.0, "markeredgewidth": 0.0, "linestyle": "", "clip_on": False}


class _Claim(NamedTuple):
    subject: str
    name: str
    kind: Kind
    verdict: str
    shown: tuple[float | None, ...]  # on the panels; None where the claim is no bound
    over: bool  # the tightness is above one
    formal: bool  # a theorem that Coq checks says what the claim says

    @property
    def fine(self) -> bool:
        return self.stated or self.verdict == Verdict.SUPPORTED.value

    @property
    def stated(self) -> bool:
        return self.verdict.endswith(_STATED)


class _Row(NamedTuple):
    claims: list[_Claim]
    fault: bool  # the row of one claim that is not supported

    def spots(self, k: int) -> list[tuple[_Claim, Spot]]:
        """Return the claims that are shown on a panel, with their spots."""
        shown = [(claim, value) for claim in self.claims if (value := claim.shown[k]) is not None]
        places = place_marks(_PANELS[k], [value for _, value in shown])
        return [(claim, spot) for (claim, _), spot in zip(shown, places, strict=True)]

    @property
    def lanes(self) -> int:
        """Lanes that the marks take on the fullest panel."""
        return max((spot.lanes for k in range(len(_PANELS)) for _, spot in self.spots(k)), default=1)


def verdicts(*, scale: str, root: int, evidence: Path) -> Table:  # noqa: ARG001  the root is the gate's concern
    """Return a line per claim and twin from the records in the folder ``evidence``, at one scale.

    ``departure`` and ``reach``, what it may still be, are those of the part of the claim that comes nearest to its
    limit; ``gap`` is the least departure by which the twin fails where it does; ``tightness`` is empty unless the
    claim is a bound; ``theorem`` is ``formal`` or ``formal in part`` where Coq has checked one, and else empty.
    """
    records = [record for record in _readable(evidence) if scale in record.entries]
    printed = read_proofs(evidence, [record.claim.id for record in records])
    lines = [line for record in records for line in _lines(record, scale, printed.get(record.claim.id, NONE))]
    names = (
        "claim", "verdict", "kind", "theorem", "departure.lo", "departure.hi", "reach", "tightness", "twin", "made_by",
        "gap",
    )  # fmt: skip
    text = ("claim", "verdict", "kind", "theorem", "tightness", "twin", "made_by")
    columns = {
        name: np.array([line[k] for line in lines], dtype=np.str_ if name in text else np.float64)
        for k, name in enumerate(names)
    }
    kind = max((record.entries[scale].kind for record in records), default=Kind.PROVED)
    return Table(kind, dict.fromkeys(names, "1"), columns)


STUDY = verdicts


def _readable(evidence: Path) -> Iterator[Record]:
    for path in record_paths(evidence):
        with suppress(ArchiveError):  # the verified_table names what cannot be read
            yield read(path)


def _lines(record: Record, scale: str, proof: Proof) -> list[tuple[str | float, ...]]:
    entry = record.entries[scale]
    part = entry.tightest or Part(entry.departure, 0, 0.0)
    theorem = proof.level if proof.formal else ""
    common = (
        record.claim.id, record.describe(entry), entry.kind.name.lower(), theorem, part.departure.lo,
        part.departure.hi, part.reach, "" if entry.tightness is None else repr(entry.tightness),
    )  # fmt: skip
    twins = [(twin.twin.id, twin.twin.made_by, twin.gap) for twin in entry.twins] or [("", "", 0.0)]
    return [(*common, *twin) for twin in twins]


def draw(table: Table) -> Figure:
    """Draw a row per subject, and one per claim that is not supported."""
    subjects: dict[str, list[_Claim]] = {}
    for claim in _claims(table):
        subjects.setdefault(claim.subject, []).append(claim)
    rows: list[_Row] = []
    for claims in subjects.values():
        rows.append(_Row(sorted((claim for claim in claims if claim.fine), key=lambda claim: claim.kind), fault=False))
        rows += [_Row([claim], fault=True) for claim in claims if not claim.fine]
    faults = np.array([row.fault for row in rows], dtype=bool)
    high = np.full(len(rows), ROW[0])
    high[~faults] = row_heights([row.lanes for row in rows if not row.fault])
    edges = np.append(0.0, np.cumsum(high))
    middles = edges[1:] - 0.5 * high
    depth = max(float(edges[-1]), ROW[1])
    figure = style.canvas(style.DOUBLE, depth + _HEAD)
    ratios = [_COUNTS, *(scale.width for scale in _PANELS)]
    first, *others = figure.subplots(1, len(ratios), sharey=True, width_ratios=ratios)
    first.set_ylim(depth, 0.0)
    _count(first, list(subjects.values()), middles[~faults].tolist())
    for row, middle in zip(rows, middles.tolist(), strict=True):
        if row.fault:
            _name(first, row.claims[0], middle)
    for k, axes in enumerate(others):
        _frame(axes, "bcd"[k], _PANELS[k])
        axes.hlines(edges[1:-1][~faults[1:]], *axes.get_xlim(), color=style.PALE, linewidth=0.4, zorder=0.5)
        for row, middle, height in zip(rows, middles.tolist(), high.tolist(), strict=True):
            for claim, spot in row.spots(k):
                _mark(axes, _PANELS[k], claim, spot.place, middle + spot.lift(height))
    others[0].axvspan(others[0].get_xlim()[0], 1.0, color=style.PALE, alpha=0.5, linewidth=0, zorder=0.2)
    others[0].axvline(1.0, color=style.GREY, linewidth=0.6, zorder=0.6)
    handles, labels = _legend(subjects)
    figure.legend(handles, labels, loc="outside upper center", ncols=5, columnspacing=1.1, handlelength=0.7)
    return figure


def _claims(table: Table) -> Iterator[_Claim]:
    """Yield the claims with the three numbers that are drawn of each; ``None`` where a claim is no bound."""
    for name in dict.fromkeys(table["claim"].tolist()):
        part = table.where(claim=name)
        subject, _, short = name.partition(".")
        departure, allowed = float(part["departure.hi"][0]), float(part["reach"][0])
        used = 0.0 if departure <= 0.0 else departure / allowed if allowed > 0.0 else np.inf
        tight = float(part["tightness"][0] or "nan")
        shown = used, float(part["gap"].min()), None if np.isnan(tight) else abs(1.0 - tight)
        verdict = str(part["verdict"][0])
        kind, formal = Kind[str(part["kind"][0]).upper()], str(part["theorem"][0]) == "formal"
        yield _Claim(subject, short, kind, verdict, shown, tight > 1.0, formal)


def _count(axes: Axes, subjects: Sequence[Sequence[_Claim]], middles: Sequence[float]) -> None:
    """Draw a bar per subject: the supported claims by kind, then the others, and how many of how many stand."""
    style.panel(axes, "a", "supported")
    axes.set(xlim=(0.0, 1.6 * max(map(len, subjects), default=1)), xticks=[])
    axes.set_yticks(middles, [claims[0].subject for claims in subjects], size=style.SMALL)
    axes.tick_params(axis="y", length=0, pad=2)
    axes.spines[:].set_visible(False)
    for claims, middle in zip(subjects, middles, strict=True):
        order = sorted(claims, key=lambda claim: (not claim.fine, claim.stated, claim.kind))
        hues = Counter(_hue(claim) for claim in order)
        left = 0
        for hue, count in hues.items():
            axes.barh(middle, count, left=left, height=0.6 * ROW[0], color=hue, linewidth=0)
            left += count
        supported = sum(claim.fine and not claim.stated for claim in claims)
        axes.annotate(
            f"{supported}/{left}", (left, middle), (2, 0), textcoords="offset points", va="center", size=style.SMALL,
            color=style.BLACK if all(claim.fine for claim in claims) else style.VERMILION,
        )  # fmt: skip


def _name(axes: Axes, claim: _Claim, middle: float) -> None:
    axes.annotate(
        f"{claim.name} {claim.verdict} \N{BALLOT X}", (1.0, middle), (0, 0), xycoords=("axes fraction", "data"),
        textcoords="offset points", color=style.VERMILION, size=style.SMALL, va="center", ha="right",
    )  # fmt: skip


def _frame(axes: Axes, letter: str, scale: LogAxis) -> None:
    style.panel(axes, letter, scale.title)
    axes.set(xscale="log", xlim=tuple(10.0**end for end in scale.ends))
    axes.set_xticks(10.0 ** np.arange(scale.low, scale.high + 1, scale.step))
    axes.minorticks_off()
    axes.tick_params(axis="y", left=False, labelleft=False)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=style.PALE, linewidth=0.4)
    axes.set_axisbelow(True)


def _mark(axes: Axes, scale: LogAxis, claim: _Claim, place: float, height: float) -> None:
    """Draw one claim: a disc, hollow above a tightness of one, or an arrow beyond the axis; a fault is larger.

    What Coq has checked has a ring.
    """
    inside = "o" if claim.fine else "X"
    marker = "<" if place < scale.low else ">" if place > scale.high else inside
    hue = _hue(claim)
    hollow = scale is _PANELS[-1] and claim.over
    look = _MARK if claim.fine else _FAULT
    face, edge = ("white", hue) if hollow else (hue, "white")
    axes.plot(10.0**place, height, marker, markerfacecolor=face, markeredgecolor=edge, **look)
    if claim.formal:
        axes.plot(10.0**place, height, zorder=3.0, **_RING)


def _hue(claim: _Claim) -> str:
    if not claim.fine:
        return style.VERMILION
    return style.BLACK if claim.stated else style.OF_KIND[claim.kind]


def _legend(subjects: Mapping[str, Sequence[_Claim]]) -> tuple[list[Any], list[str]]:
    """Return an entry per kind with its number of claims, and those of the marks that are no disc; and their words."""
    claims = [claim for each in subjects.values() for claim in each]
    kinds = Counter(claim.kind for claim in claims if not claim.stated)
    entries: list[Artist] = [
        Patch(color=style.OF_KIND[kind], label=f"{kinds[kind]} {kind.name.lower()}") for kind in sorted(kinds)
    ]
    stated = Counter(claim.verdict for claim in claims if claim.stated)
    if stated:
        words = ", ".join(f"{count} {verdict.removesuffix(_STATED)}" for verdict, count in sorted(stated.items()))
        entries.append(Patch(color=style.BLACK, label=words + _STATED))
    dark: dict[str, Any] = {"color": style.GREY, "linestyle": "", "markersize": 3.4}
    if any(claim.over for claim in claims):
        entries.append(Line2D([], [], marker="o", markerfacecolor="white", label="tightness > 1", **dark))
    entries.append(Line2D([], [], marker="<", label="off the axis", **dark))
    faults = sum(not claim.fine for claim in claims)
    if faults:
        fault = {**dark, "color": style.VERMILION}
        entries.append(Line2D([], [], marker="X", label=f"{faults} not supported", **fault))
    handles: list[Any] = [*entries]
    labels = [str(entry.get_label()) for entry in entries]
    if formal := sum(claim.formal for claim in claims):
        handles.append((Line2D([], [], **_RING), Line2D([], [], marker="o", color=style.GREY, **_MARK)))
        labels.append(f"{formal} proved whole in Coq")
    return handles, labels
