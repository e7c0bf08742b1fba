"""The site of the whole repository, built once."""

from pathlib import Path

import pytest

from theory.site import build_site

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def atlas(tmp_path_factory):
    out = tmp_path_factory.mktemp("site") / "atlas"
    build_site(ROOT / "verify" / "evidence", ROOT / "paper_notes.md", out)
    return out
