"""What is kept of a claim that was decided: one JSON file, an entry per scale, written whole and judged when read."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.evidence.record.locators import locators_file as locators_file, read_locators as read_locators
    from theory.evidence.record.reading import (
        RecordError as RecordError,
        claim_of as claim_of,
        interval_of as interval_of,
        kind_of as kind_of,
        part_of as part_of,
        read as read,
        seal as seal,
        statement_of as statement_of,
        whole_of as whole_of,
    )
    from theory.evidence.record.writing import (
        compare as compare,
        entry_of as entry_of,
        path_of as path_of,
        recorded as recorded,
        write as write,
    )

open_lazily(__name__)
