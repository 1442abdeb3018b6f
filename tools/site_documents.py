"""Copies documents of the repository into the manual, with links that lead to its pages.

In the repository, documents link to each other and to sources by path. On the site, a link to a document that is a page
leads to the page; if its text is the path, the title of the page replaces it. A link to another file becomes its text.
A function, class or primitive that a text names, such as `ep.ops.gather` or `gather`, becomes a link to its meaning.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from tools import reference_pages

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"
README: Final = ROOT / "README.md"

COPIED: Final = {
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
    "CHANGELOG.md": "changelog",
    "ep/cpu/engine/README.md": "engines",
    "ep/cpu/vector_math/README.md": "vector-math",
}
"""Documents outside `docs`, and the pages that show them. The README is the start page."""

_NAME: Final = re.compile(r"(?<![\[`])`(\w+(?:\.\w+)*)(\([^`\n]*\))?`(?!`|\])")
_LINK: Final = re.compile(r"(?<!!)\[([^\]]+)\]\((?!\w+:)([^)#]+)(#[^)]*)?\)")


def write(folder: Path) -> None:
    """Write the pages of documents outside `docs` to `folder`, which is in `docs`."""
    folder.mkdir(exist_ok=True)
    for document, name in COPIED.items():
        path, text = folder / f"{name}.md", for_site((ROOT / document).read_text(), ROOT / document, folder)
        if not path.exists() or path.read_text() != text:  # Sphinx re-reads files whose date is new
            path.write_text(text)


def start_page(rest: str) -> str:
    """Return the text of the start page: the README, then the rest."""
    return f"{for_site(README.read_text(), README, DOCS)}\n{rest}"


def for_site(text: str, document: Path, folder: Path) -> str:
    """Return the text of a document with the links of a page in `folder`."""

    def link(found: re.Match[str]) -> str:
        words, target, anchor = found[1], (document.parent / found[2]).resolve(), found[3] or ""
        name = COPIED.get(str(target.relative_to(ROOT)))
        page = DOCS / "documents" / f"{name}.md" if name else target if target != README else DOCS / "index.md"
        if page.suffix == ".md" and page.is_relative_to(DOCS):
            named = _title(target) if words == found[2] and target.exists() else words
            return f"[{named}]({os.path.relpath(page, folder)}{anchor})"
        return words

    text = re.sub(r"!\[([^\]]*)\]\((?!\w+:)([^)]+)\)", lambda found: _picture(found, document, folder), text)
    return _NAME.sub(lambda found: _described(found, folder), _LINK.sub(link, text))


def _described(found: re.Match[str], folder: Path) -> str:
    """Return the link of a name in code; the code itself if nothing describes the name, or it is in a heading."""
    page = reference_pages.descriptions().get(found[1])
    line = found.string.rfind("\n", 0, found.start()) + 1
    if page is None or found.string.startswith("#", line):
        return found[0]
    return f"[{found[0]}]({os.path.relpath(DOCS / 'reference', folder)}/{page})"


def _title(document: Path) -> str:
    """Return the first heading of a document."""
    return document.read_text().partition("\n")[0].removeprefix("# ")


def _picture(found: re.Match[str], document: Path, folder: Path) -> str:
    return f"![{found[1]}]({os.path.relpath((document.parent / found[2]).resolve(), folder)})"
