"""Settings of Sphinx. Nothing here names another host: the site works without a network."""

from pathlib import Path

from interlingua import __version__

HERE = Path(__file__).resolve().parent

project = "Interlingua"
author = "The contributors of Interlingua"
version = release = __version__
copyright = author

extensions = ["myst_parser"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
exclude_patterns = ["adr/README.md"]
suppress_warnings = ["misc.highlighting_failure"]  # blocks with an ellipsis where a key would stand

smartquotes_action = "qe"  # quotes and ellipses; two hyphens begin an option

html_theme = "furo"
html_title = f"Interlingua {__version__}"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
pygments_style = "tango"
pygments_dark_style = "monokai"
python_maximum_signature_line_length = 90
add_module_names = False
toc_object_entries_show_parents = "hide"
