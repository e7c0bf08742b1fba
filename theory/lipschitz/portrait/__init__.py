"""What one layer of given weights does to given tokens, in numbers that can be drawn."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.lipschitz.portrait.levels import Level as Level
    from theory.lipschitz.portrait.portrait import Portrait as Portrait, portray as portray
    from theory.lipschitz.portrait.walk import Step as Step, walk as walk

open_lazily(__name__)
