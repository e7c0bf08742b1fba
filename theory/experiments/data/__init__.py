"""What the tasks are made of: bodies with named parts, numerals in words, and readers of published data."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.experiments.data.bodies import (
        LABELS as LABELS,
        Body as Body,
        draw_bodies as draw_bodies,
        draw_body as draw_body,
    )
    from theory.experiments.data.faces import (
        NAMES as NAMES,
        add_noise as add_noise,
        describe_faces as describe_faces,
        normalise as normalise,
    )
    from theory.experiments.data.human_benchmark import (
        entries as entries,
        read as read,
        read_labels as read_labels,
        read_mesh as read_mesh,
    )
    from theory.experiments.data.idx import find_idx as find_idx, read_idx as read_idx
    from theory.experiments.data.images import group_images as group_images, small_images as small_images
    from theory.experiments.data.moons import draw_two_moons as draw_two_moons
    from theory.experiments.data.numerals import numeral as numeral, split_numeral as split_numeral, stems as stems
    from theory.experiments.data.segments import segment_sets as segment_sets

open_lazily(__name__)
