"""A wheel carries the records and the notes, so that it cites without the repository."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Record(BuildHookInterface):
    """Adds the committed evidence to a wheel, where :mod:`theory.report.locations` looks for it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Leave an editable wheel alone: it finds them in the repository, and a copy would grow old."""
        if version == "standard":
            build_data["force_include"] |= {
                "verify/evidence": "theory/_record/evidence",
                "verify/merged.csv": "theory/_record/merged.csv",
                "verify/locators.csv": "theory/_record/locators.csv",
                "paper_notes.md": "theory/_record/paper_notes.md",
                "CITATION.cff": "theory/_record/CITATION.cff",
                "docs/notes": "theory/_record/docs/notes",
            }
