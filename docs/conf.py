"""The documentation site: ``make docs`` builds it into build/docs, with warnings as errors."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_site"))

from flexdp.version import __version__

project = "flexdp"
author = "The flexdp maintainers"
project_copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton", "flexdp_site"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_site", "experiments"]
nitpicky = False
language = "en_GB"
smartquotes_action = "De"  # dashes and ellipses; quotes stay as they are written

myst_heading_anchors = 4
myst_links_external_new_tab = False

autodoc_typehints = "none"  # the docstrings tell; signatures stay readable
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_attr_annotations = False
python_maximum_signature_line_length = 80
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = f"flexdp {version}"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5fa8", "color-brand-content": "#1f5fa8"},
    "dark_css_variables": {"color-brand-primary": "#7db4f0", "color-brand-content": "#7db4f0"},
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
