"""How the guide is built: ``sphinx-build -W docs DIR/docs``, beside the atlas that ``theory site --out DIR`` makes.

What is generated goes into ``docs/made``, which git ignores: the API reference from the doors, a page for every figure
from the manifest, the tutorials with their outputs, and the pages that stand elsewhere in the repository.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_sphinx"), str(HERE.parent)]  # the extensions, and the package as it is here

from typing import TYPE_CHECKING  # noqa: E402

import theory  # noqa: E402

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "attention-theory"
author = "The attention-theory developers"
version = release = theory.__version__
extensions = [
    "made_pages",
    "atlas_links",
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_sphinx", "tutorials", "made/tutorials/*.py", "made/tutorials/*.ipynb", "made/tutorials/*.zip"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
nitpicky = False  # types in docstrings are words

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_url_schemes = ("http", "https", "atlas")  # the last one is resolved by atlas_links

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
add_module_names = False
maximum_signature_line_length = 88

sphinx_gallery_conf = {
    "examples_dirs": "tutorials",
    "gallery_dirs": "made/tutorials",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "matplotlib_animations": False,
    "min_reported_time": 60,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "image_scrapers": ("pictures.scrape",),
    "reset_modules": ("matplotlib",),
}

html_theme = "pydata_sphinx_theme"
html_title = "attention-theory"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["guide.css"]
templates_path = ["_templates"]
html_show_sourcelink = False
html_copy_source = False
html_domain_indices = False
html_show_sphinx = False
html_sidebars = {
    "*": ["guide-nav.html"],
    "made/*": ["guide-nav.html"],
    "index": [],
    "made/*/*": ["sidebar-nav-bs.html"],
    "made/tutorials/index": [],
    "made/gallery/index": [],
}
html_theme_options = {
    "navbar_start": ["brand.html"],
    "navbar_center": ["ways.html"],
    "navbar_persistent": [],
    "navbar_end": ["search-field.html"],
    "secondary_sidebar_items": ["page-toc"],
    "show_nav_level": 1,
    "navigation_depth": 2,
    "collapse_navigation": True,
    "show_prev_next": False,
    "footer_start": ["version.html"],
    "footer_end": [],
    "back_to_top_button": False,
    "search_bar_text": "Find in the guide",
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def setup(app: "Sphinx") -> None:
    """Leave out what only those read who work on the theme."""
    app.connect("build-finished", lambda app, error: _tidy(Path(app.outdir) / "_static"))  # noqa: ARG005  its names


def _tidy(static: Path) -> None:
    for path in [*static.rglob("*.map"), *static.glob("*-macros.html")]:
        path.unlink()
