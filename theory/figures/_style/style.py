"""One hand for all figures: sizes, colours, the caption line, the stamp, and files that come out equal every time.

Made for print in two columns, in the fonts that Matplotlib brings, without LaTeX. Everything is drawn inside
:func:`drawing`, which starts from Matplotlib's defaults, so no setting of the user's own changes a figure.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backend_bases import GraphicsContextBase
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.path import Path
from matplotlib.textpath import text_to_path
from matplotlib.transforms import IdentityTransform, Transform
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from theory.evidence import Interval, Kind
from theory.report.digits import at_least, common

Array: TypeAlias = NDArray[np.float64]

SINGLE, DOUBLE = 3.4, 7.0  # widths of one and of two columns in inches

# after M. Okabe and K. Ito, Color Universal Design, 2008
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
GREY, PALE = "#6E6E6E", "#E4E4E4"
OF_KIND = {
    Kind.PROVED: BLUE, Kind.CERTIFIED: GREEN, Kind.NUMERIC: SKY, Kind.ESTIMATED: YELLOW, Kind.TREND: ORANGE,
    Kind.STATISTICAL: PURPLE,
}  # fmt: skip

SMALL, TEXT, HEAD = 7.0, 8.0, 8.5  # points
_LINE, _HEADLINE = 0.135, 0.16  # inches from one line of the footer, or of the headline, to the next
_MARGIN = 0.04  # inches
_GRID = 256.0  # parts of a dot, as in Agg
_PLACES = 6  # chosen: a share of the figure too small to see, far above the digits that differ
_RC = {
    "font.family": "DejaVu Sans", "font.size": TEXT, "axes.titlesize": TEXT, "axes.labelsize": TEXT,
    "xtick.labelsize": SMALL, "ytick.labelsize": SMALL, "legend.fontsize": SMALL, "mathtext.fontset": "dejavusans",
    "axes.linewidth": 0.5, "axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left",
    "axes.titlepad": 4.0, "axes.labelpad": 2.5, "lines.linewidth": 0.9, "patch.linewidth": 0.5,
    "xtick.major.width": 0.5, "ytick.major.width": 0.5, "xtick.minor.width": 0.35, "ytick.minor.width": 0.35,
    "xtick.major.size": 2.5, "ytick.major.size": 2.5, "xtick.minor.size": 1.5, "ytick.minor.size": 1.5,
    "legend.frameon": False, "legend.handlelength": 1.4, "legend.handletextpad": 0.5, "legend.borderpad": 0.2,
    "figure.constrained_layout.w_pad": _MARGIN, "figure.constrained_layout.h_pad": _MARGIN,
    "svg.fonttype": "path", "svg.hashsalt": "attention-theory", "pdf.fonttype": 42,
    "figure.dpi": 300, "savefig.dpi": "figure",
}  # fmt: skip
_NO_METADATA: dict[str, dict[str, Any]] = {  # what would name the date or the program
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


@contextmanager
def drawing() -> Iterator[None]:
    """Draw in the style of this room, whatever the user's own settings are.

    Linear algebra has one thread, as in a study: their number moves last digits, and so the bytes of a picture.
    """
    with matplotlib.style.context(["default", _RC]), threadpool_limits(limits=1):
        yield


def canvas(width: float, height: float) -> Figure:
    """Return an empty figure of the given size in inches that lays itself out."""
    return Figure(figsize=(width, height), layout="constrained")


def panel(axes: Axes, letter: str, title: str, *, size: float = TEXT) -> None:
    """Name a panel by a letter and a short title."""
    axes.set_title(f"$\\bf{{{letter}}}$  {title}", size=size)


def shared_digits(interval: Interval, figures: int) -> str:
    """Return in TeX the first digits of an enclosed positive number, or as many as its ends share."""
    low, high = (at_least(end, tex=True, figures=figures) for end in (interval.lo, interval.hi))
    return rf"{low}\ldots" if low == high and interval.width > 0.0 else common(interval, tex=True)


def caption(figure: Figure, clauses: Sequence[str], headline: str = "") -> None:
    """Add a strip above the figure with the headline and one below it with the clauses, which break between words."""
    width, height = figure.get_size_inches()
    room = width - 4 * _MARGIN
    heads = _balance(headline[:1].upper() + headline[1:], room)
    lines = [line for clause in clauses for line in _wrap(clause, room)]
    above = len(heads) * _HEADLINE + 3 * _MARGIN if heads else 0.0
    below = len(lines) * _LINE + 3 * _MARGIN if lines else 0.0
    whole = height + above + below
    figure.set_size_inches(width, whole)
    left = height - _hang_legends(figure, below + height)
    figure.set_layout_engine("constrained", rect=(0.0, below / whole, 1.0, left / whole))
    for top, step, size, color, words in ((whole - 2 * _MARGIN, _HEADLINE, HEAD, BLACK, heads),
                                          (below - 2 * _MARGIN, _LINE, SMALL, GREY, lines)):  # fmt: skip
        for number, line in enumerate(words):
            y = (top - number * step) / whole
            weight = "bold" if words is heads else "normal"
            figure.text(2 * _MARGIN / width, y, line, size=size, color=color, weight=weight, va="top", ha="left")


def _hang_legends(figure: Figure, level: float) -> float:
    """Hang the legends above all panels from a level, in inches, and return how high they are."""
    taken = 0.0
    for legend in figure.legends:
        legend.set_bbox_to_anchor((0.0, 0.0, 1.0, level / figure.get_figheight()), figure.transFigure)
        taken = max(taken, legend.get_window_extent().height / figure.dpi + 2 * _MARGIN)
    return taken


def fits_in_a_line(figure: Figure, words: str) -> bool:
    """Tell whether words of a footer need no second line."""
    return len(_wrap(words, figure.get_size_inches()[0] - 4 * _MARGIN)) == 1


def stamp(figure: Figure, reason: str) -> None:
    """Write across the figure that it is not verified, and why."""
    width, height = figure.get_size_inches()
    words = "\n".join(_wrap(reason.replace("$", r"\$"), 0.72 * width))
    box = {"facecolor": "white", "edgecolor": VERMILION, "alpha": 0.88, "boxstyle": "square,pad=0.4", "linewidth": 1.2}
    figure.text(
        0.5, 0.55, "NOT VERIFIED", size=min(5.0 * width, 14.0 * height), weight="bold", color=VERMILION, alpha=0.75,
        zorder=100.0, ha="center", va="bottom", rotation=12.0, rotation_mode="anchor",
    )  # fmt: skip
    figure.text(
        0.5, 0.55 - 0.3 / height, words, size=TEXT, color=VERMILION, zorder=101.0, ha="center", va="top", bbox=box
    )


def pictures(figure: Figure, formats: Sequence[str]) -> dict[str, bytes]:
    """Return what the file of each format holds."""
    if isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine):
        _fix_layout(figure)
    found = {}
    dpi = figure.dpi
    for form in formats:  # by the canvas itself: savefig would draw everything once more before
        out = io.BytesIO()
        getattr(_CANVASES[form](figure), f"print_{form}")(out, metadata=_NO_METADATA[form])
        figure.set_dpi(dpi)  # a canvas of vectors leaves another
        found[form] = out.getvalue()
    return found


class _Canvas(FigureCanvasAgg):
    """Dots from corners that are rounded first, so that a processor's last digits change none of them.

    Agg itself rounds to this grid, but after it has joined the pieces of a line; where they are straight, as a power on
    two logarithmic axes, the join is a quotient of rounding errors and may lie anywhere along them.
    """

    def get_renderer(self) -> RendererAgg:
        return _Renderer(*self.figure.bbox.size, self.figure.dpi)  # type: ignore[no-untyped-call]


class _Renderer(RendererAgg):
    def draw_path(self, gc: GraphicsContextBase, path: Path, transform: Transform, rgbFace: Any = None) -> None:
        corners = np.round(transform.transform(path.vertices) * _GRID) / _GRID
        super().draw_path(gc, Path(corners, path.codes), IdentityTransform(), rgbFace)  # type: ignore[no-untyped-call]


_CANVASES = {"svg": FigureCanvasSVG, "png": _Canvas, "pdf": FigureCanvasPdf}


def _fix_layout(figure: Figure) -> None:
    """Lay the figure out once, for all formats, and round: the solver's last digits differ from run to run."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        axes.set_position(tuple(round(part, _PLACES) for part in axes.get_position(original=True).bounds))


def _balance(headline: str, width: float) -> list[str]:
    """Break a headline into as few lines as there can be, which are about as long as each other."""
    number = len(_wrap(headline, width, HEAD, "bold"))
    tried = (_wrap(headline, share * width, HEAD, "bold") for share in np.linspace(1.0 / max(number, 1), 1.0, 12))
    return next(lines for lines in tried if len(lines) == number)


def _wrap(text: str, width: float, size: float = SMALL, weight: str = "normal") -> list[str]:
    """Break a text between words into lines of at most ``width`` inches; mathematics must have no blanks."""
    lines: list[str] = []
    room = 0.0
    for word in text.split():
        needed = _text_width(
            f"{word}n", size, weight
        )  # with a blank, about as wide as half an n, and a little to spare
        if lines and needed <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
            room = width
        room -= needed
    return lines


def _text_width(word: str, size: float, weight: str) -> float:
    font = FontProperties(size=size, weight=weight)
    width, _, _ = text_to_path.get_text_width_height_descent(word, font, ismath="$" in word)
    return float(width) / 72.0
