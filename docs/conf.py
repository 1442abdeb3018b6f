"""The manual as a site: `python -m sphinx -W docs build/manual`; the extra `docs` has what it takes."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the tools are not part of the package

from ep.version import __version__  # noqa: E402
from tools import reference_pages, site_documents  # noqa: E402

project, author, copyright = "ep", "the authors of ep", "the authors of ep; Apache-2.0"
version = release = __version__
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["examples"]
html_theme = "furo"
html_title = f"ep {__version__}"
html_static_path = ["pictures", "styles"]
html_css_files = ["manual.css"]


def setup(app):
    """Write the pages that follow from contracts, declarations and other documents before Sphinx reads the folder."""
    docs = Path(app.srcdir)
    reference_pages.write(docs / "reference")
    site_documents.write(docs / "documents")
    app.connect("source-read", _with_links_of_the_site)


def _with_links_of_the_site(app, page, source):
    path = Path(app.srcdir) / f"{page}.md"
    if page == "index":
        source[0] = site_documents.start_page(source[0])
    else:
        source[0] = site_documents.for_site(source[0], path, path.parent)
