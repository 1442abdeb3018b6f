"""The generated parts of the manual: examples of primitives, and links of documents."""

import re
import runpy

import pytest

import ep.ops
from tools import reference_pages, site_documents

EXAMPLES = {reference_pages.example_of(interface): interface for interface in reference_pages.interfaces()}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path):
    assert f"{EXAMPLES[path].__name__}Factory" in path.read_text()
    runpy.run_path(str(path))


def test_every_example_is_on_a_page():
    assert set(site_documents.DOCS.glob("examples/*.py")) == set(EXAMPLES)


def test_pages_say_what_the_contracts_say(tmp_path):
    reference_pages.write(tmp_path)
    assert "### Calls of Model\n\n```python\nmodel(*arrays, **inputs)\n```" in (tmp_path / "models.md").read_text()
    page = (tmp_path / "gather.md").read_text()
    assert "- **params**: buffer of `[outer_dim_size, gather_dim_size, inner_dim_size]` elements" in page
    assert "| all 16 types by 8 integer types |" in page
    aliases = {alias for one in reference_pages.operators() for alias in one.aliases}
    functions = "".join(path.read_text() for path in tmp_path.glob("operators-*.md"))
    assert set(re.findall(r"^## (\w+)$", functions, re.M)) == {*ep.ops.__all__} - aliases
    pages = {path.name: path.read_text() for path in tmp_path.glob("*.md")}
    assert not [name for name, text in pages.items() if re.search(r"^\d+[.)] ", text, re.M)]  # no line becomes a list
    (tmp_path / "of_a_primitive_that_is_gone.md").touch()
    reference_pages.write(tmp_path)
    assert not (tmp_path / "of_a_primitive_that_is_gone.md").exists()


def test_names_lead_to_their_descriptions():
    text = "# `ep.ops.gather`\n`ep.ops.gather(x, i)`, `ep.fuse`, ``ep.fuse``, [`ep.fuse`](a.md), `ep.nothing`, "
    names = "`gather(x)`, `Gather`, `isnan`, `Arrays`, `x.gather`, `gathers`"
    docs = site_documents.DOCS
    assert site_documents.for_site(text + names, docs / "onnx.md", docs) == (
        "# `ep.ops.gather`\n[`ep.ops.gather(x, i)`](reference/operators-gather.md#gather), "
        "[`ep.fuse`](reference/expressions.md#fuse), ``ep.fuse``, [`ep.fuse`](a.md), `ep.nothing`, "
        "[`gather(x)`](reference/operators-gather.md#gather), [`Gather`](reference/gather.md), "
        "[`isnan`](reference/operators-unary.md#is-nan), [`Arrays`](reference/arrays.md#arrays), `x.gather`, `gathers`"
    )
    pages = reference_pages.pages()
    for name, target in reference_pages.descriptions().items():
        page, _, anchor = target.partition("#")
        headings = re.findall(r"^##? (\w+)$", pages[page], re.M)
        assert (anchor or name.lower()) in {heading.lower().replace("_", "-") for heading in headings}, name


def test_links_lead_to_pages():
    root, docs = site_documents.ROOT, site_documents.DOCS
    text = "[a](SECURITY.md) [b](docs/operators.md#gradients) [c](ep/ops/pad.py) [d](https://e.org) ![e](docs/a.png)"
    assert site_documents.for_site(text, root / "README.md", docs) == (
        "[a](documents/security.md) [b](operators.md#gradients) c [d](https://e.org) ![e](a.png)"
    )
    back = site_documents.for_site("[a](../README.md) [b](operators.md)", docs / "placement.md", docs / "reference")
    assert back == "[a](../index.md) [b](../operators.md)"
    named = site_documents.for_site("[operators.md](operators.md)", docs / "placement.md", docs)
    assert named == "[Operators and their kernels](operators.md)"
