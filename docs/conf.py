"""The documentation site: `make docs` builds it from the pages here, the docstrings and `examples/`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "site"), str(HERE.parent / "tests" / "support")]
if os.environ.get("ZSKL_DATA"):  # examples are run in a folder of their own
    os.environ["ZSKL_DATA"] = os.path.abspath(os.environ["ZSKL_DATA"])

from pygments.lexers import TextLexer  # noqa: E402

import generated_pages  # noqa: E402
import public_names  # noqa: E402
import repository_links  # noqa: E402
from zskl.version import __version__  # noqa: E402

project = "zskl"
author = "The zskl developers"
copyright = author
release = version = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["site"]
highlight_language = "text"  # formulas are indented blocks
smartquotes = False  # options begin with two hyphens
nitpicky = False  # types in docstrings are words for people

# The same links work on GitHub: a heading's address is made from its words, as there.
myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence", "deflist"]

# A name between single backticks in a docstring is a link where there is a page for it.
default_role = "py:obj"
templates_path = ["site/templates"]
autosummary_generate = [f"{generated_pages.FOLDER}/{name}.rst" for name in public_names.modules()]
autosummary_filename_map = public_names.file_names()
autosummary_ignore_module_all = False
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say the types, in words
numpydoc_show_class_members = False  # the template lists them

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "examples",
    "backreferences_dir": "examples/uses",
    "doc_module": ("zskl",),
    "reference_url": {"zskl": None},
    "within_subsection_order": "reading_order.ReadingOrder",
    "filename_pattern": r"\.py$",  # all of them are executed
    "image_scrapers": ("pictures",),
    "ignore_repr_types": r"zskl\.plots",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 60,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "zskl"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_favicon = "site/static/icon.svg"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "tutorial": []}
html_theme_options = {
    "logo": {"image_light": "site/static/icon.svg", "image_dark": "site/static/icon.svg", "text": "zskl"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["about"],
    "footer_end": [],
    "pygments_light_style": "github-light-high-contrast",
    "pygments_dark_style": "github-dark-high-contrast",
}
html_context = {"default_mode": "auto"}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# `make docs-links`
linkcheck_anchors = False
linkcheck_timeout = 20
linkcheck_retries = 2


def setup(app):
    """Write the pages that are made from code, before Sphinx looks for pages."""
    app.connect("config-inited", lambda app, config: generated_pages.write(HERE))
    app.connect("source-read", repository_links.replaced)
    app.connect("autodoc-skip-member", public_names.skipped)
    app.add_lexer("output", TextLexer)  # what a block prints
