"""How the guide is built: ``sphinx-build -W docs DIR/docs``, beside the atlas that ``theory site --out DIR`` makes.

What is generated goes into ``docs/made``, which git ignores: the API reference from the doors, a page for every figure
from the manifest, the tutorials with their outputs, and the pages that stand elsewhere in the repository.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_sphinx"), str(HERE.parent)]  # the extensions, and the package as it is here

import theory  # noqa: E402

project = "attention-theory"
author = "The attention-theory developers"
version = release = theory.__version__
extensions = [
    "made_pages",
    "atlas_links",
    "finding",
    "mathml",
    "myst_parser",
    "numpydoc",
    "slim",
    "sphinx.ext.autodoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_sphinx", "notes", "tutorials", *(f"made/tutorials/*.{kind}" for kind in ("py", "ipynb", "zip"))]
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

html_theme = "basic"  # of which no more is used than that it leads to layout.html
html_title = "attention-theory"
html_math_renderer = "mathml"
html_static_path = ["_static"]
templates_path = ["_templates", "../theory/site/templates"]
html_show_sourcelink = False
html_copy_source = False
html_domain_indices = False
html_permalinks_icon = "#"
