"""Pictures of one layer of your own at tokens of your own; no claim is behind them, and no evidence."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.figures.portrait.command import run_command as run_command
    from theory.figures.portrait.look import PICTURES as PICTURES, look as look
    from theory.figures.portrait.walk import draw_walk as draw_walk

open_lazily(__name__)
