"""How a figure looks: sizes, colours, panels; one style for all figures."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure

    from theory.figures._style.style import (
        BLACK as BLACK,
        BLUE as BLUE,
        DOUBLE as DOUBLE,
        GREEN as GREEN,
        GREY as GREY,
        OF_KIND as OF_KIND,
        ORANGE as ORANGE,
        PALE as PALE,
        PURPLE as PURPLE,
        SINGLE as SINGLE,
        SKY as SKY,
        SMALL as SMALL,
        TEXT as TEXT,
        VERMILION as VERMILION,
        YELLOW as YELLOW,
        Array as Array,
        canvas as canvas,
        panel as panel,
        shared_digits as shared_digits,
    )
    from theory.figures._style.vocabulary import (
        convergence as convergence,
        guide as guide,
        intervals as intervals,
        marks as marks,
        note as note,
        power as power,
        row as row,
        ticks as ticks,
        turn_axis as turn_axis,
    )

open_lazily(__name__)
