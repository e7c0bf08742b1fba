"""Pictures of the tutorials as SVG, which are sharp on every screen and a tenth of the bytes."""

from typing import Any

from sphinx_gallery.scrapers import matplotlib_scraper


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the open figures, as Sphinx-Gallery asks for it."""
    return str(matplotlib_scraper(block, block_vars, gallery_conf, format="svg", bbox_inches=None))
