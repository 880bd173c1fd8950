"""Configuration of the documentation site: ``python3 dev.py docs`` builds it."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_extensions"))

import anchorview  # noqa: E402

# Examples draw into files.
os.environ.setdefault("MPLBACKEND", "agg")

project = "anchorview"
author = "The anchorview developers"
copyright = author
release = version = anchorview.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "documented_members",
    "folded_attributes",
    "outside_pages",
    "public_links",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]

# Markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Formulas: one file, which needs neither a network nor fonts
MATHJAX = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax"
mathjax_path = "tex-svg.js"

# The icon of the buttons that copy code, with a name for screen readers
copybutton_image_svg = """
<svg role="img" aria-label="Copy" viewBox="0 0 24 24" stroke="currentColor" stroke-width="1.5"
  fill="none" stroke-linecap="round" stroke-linejoin="round">
  <rect x="8" y="8" width="12" height="12" rx="2" />
  <path d="M16 8v-2a2 2 0 0 0 -2 -2h-8a2 2 0 0 0 -2 2v8a2 2 0 0 0 2 2h2" />
</svg>
"""

# Reference
toc_object_entries_show_parents = "hide"
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    # A template that docs/own_methods.md links to.
    "ignore_pattern": r"__init__\.py|own_method\.py",
    "thumbnail_size": (640, 420),
    "subsection_order": "subsection_order.by_question",
    "within_subsection_order": "subsection_order.FirstThingsFirst",
    "abort_on_example_error": True,
    "default_thumb_file": str(DOCS / "_static" / "logo.svg"),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "min_reported_time": 0,
    "reference_url": {},
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("anchorview",),
}

# Pages
html_theme = "pydata_sphinx_theme"
html_title = "anchorview"
html_static_path = ["_static", str(MATHJAX / mathjax_path)]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {
        "text": "anchorview",
        "alt_text": "Home",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
    },
    "navbar_align": "left",
    # The button with a text has another name for screen readers than for eyes.
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "back_to_top_button": True,
}
# Pages without pages below them need no list of those.
html_sidebars = {name: [] for name in ("index", "getting_started")}
