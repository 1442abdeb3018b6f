"""Writes the pages of the manual that are made from the contracts and the declared operators.

`docs/conf.py` calls `write` whenever the manual is built: the pages are not part of the repository.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ep.ops
from ep.cli import data_types, names
from ep.cli.show import support, without_keys
from ep.include.primitive import Primitive, registered
from ep.include.primitive.op_table import attributes_of
from ep.ops.declare.operator import Operator, operators

_EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
_SUMMARY = re.compile(r"(.+?[.:])(\s|$)", re.DOTALL)


def write(folder: Path) -> None:
    """Write `pages` to a folder, and remove all other files from it."""
    folder.mkdir(exist_ok=True)
    found = pages()
    for old in set(folder.glob("*.md")) - {folder / name for name in found}:
        old.unlink()
    for name, text in found.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:  # Sphinx re-reads files whose date is new
            path.write_text(text)


def pages() -> dict[str, str]:
    """Return the text of each page: one for each primitive and each family of operators, and those that list them."""
    return {f"{name}.md": text for name, text in (*_primitives(), *_operators())}


def interfaces() -> list[type[Primitive]]:
    """Return every interface once, in the order of its name."""
    return sorted(dict.fromkeys(names.INTERFACES.values()), key=lambda one: one.__name__)


def example_of(interface: type[Primitive]) -> Path:
    """Return the file with the example of an interface."""
    return _EXAMPLES / f"{inspect.getmodule(interface).__name__.rpartition('.')[2]}.py"  # type: ignore[union-attr]


# Primitives


def _primitives() -> Iterator[tuple[str, str]]:
    rows = []
    for interface in interfaces():
        name = _page(interface)
        yield name, _primitive(interface)
        rows.append((f"[{interface.__name__}]({name}.md)", _summary(inspect.getdoc(interface) or "")))
    intro = "A primitive is made by `NewPrimitive` and launched any number of times: see [Concepts](../concepts.md)."
    contents = "\n".join(_page(interface) for interface in interfaces())
    yield (
        "primitives",
        f"# Primitives\n\n{intro}\n\n{_table(('primitive', 'what it does'), rows)}\n\n{_toctree(contents)}",
    )


def _page(interface: type[Primitive]) -> str:
    return example_of(interface).stem.replace("_", "-")


def _primitive(interface: type[Primitive]) -> str:
    factory = names.factory_of(interface)
    also = [name for name, value in names.INTERFACES.items() if value is interface and name != interface.__name__]
    parts = [f"# {interface.__name__}"]
    if also:
        parts.append(f"Also importable as `{'`, `'.join(also)}`.")
    parts.append(_prose(inspect.getdoc(interface) or ""))
    parts += ["## New", _code(_call(f"NewPrimitive({factory.__name__}, device_type", factory.New))]
    parts.append(_prose(inspect.getdoc(factory.New) or ""))
    parts += [
        "## Launch",
        _code(_call("primitive.Launch(", interface.Launch)),
        _prose(inspect.getdoc(interface.Launch) or ""),
    ]
    parts += ["## Example", f"```{{literalinclude}} ../examples/{example_of(interface).name}\n:language: python\n```"]
    parts += ["## Attributes", _attributes(interface)] if _attributes(interface) else []
    parts += ["## Supported data types", *_support(interface)]
    return "\n\n".join(parts) + "\n"


def _call(opening: str, function: Any) -> str:
    """Return a call with all parameters, on one line each if they do not fit on one line."""
    head, _, first = opening.partition("(")
    parameters = [first] if first else []
    keyword_only = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            parameters.append("*")
            keyword_only = True
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        parameters.append(f"{stars}{parameter.name}{default}")
    line = f"{head}({', '.join(parameters)})"
    return line if len(line) <= 88 else f"{head}(\n" + "".join(f"    {one},\n" for one in parameters) + ")"


def _attributes(interface: type[Primitive]) -> str:
    ops = dict.fromkeys(entry.op for entry in registered() if entry.interface is interface)
    rows = [
        (
            f"`{op.name}`",
            *(f"{a.name}, {'required' if a.default is None else format(a.default, 'g')}" for a in declared),
        )
        for op in ops
        if op is not None and (declared := attributes_of(op))
    ]
    return _table(("op", "attr0", "attr1"), [(*row, "")[:3] for row in rows]) if rows else ""


def _support(interface: type[Primitive]) -> Iterator[str]:
    by_rows: dict[Any, list[str]] = {}
    for tag in sorted({entry.device_type.tag for entry in registered()}):
        entries = [entry for entry in registered() if entry.interface is interface and entry.device_type.tag == tag]
        if entries:
            by_rows.setdefault(support(entries), []).append(tag)
    if not by_rows:
        yield without_keys(interface)
    for rows, tags in by_rows.items():
        yield f"On {', '.join(tags)}:"
        heading = data_types.parameters(interface) or "data types"
        if any(ops for _, ops in rows):
            yield _table((heading, "ops"), [(types, f"`{ops.replace(', ', '`, `')}`") for types, ops in rows])
        else:
            yield _table((heading,), [(types or "bytes",) for types, _ in rows])
    used = data_types.legend(types for rows in by_rows for types, _ in rows)
    if used:
        yield "\n".join(f"- {name}: {types}" for name, types in used.items())


# Operators


def _operators() -> Iterator[tuple[str, str]]:
    families: dict[str, list[Operator]] = {}
    for operator in operators():
        families.setdefault(operator.family, []).append(operator)
    rows = []
    for family, members in families.items():
        name = f"operators-{family.replace('_', '-')}"
        title = f"# Operators: {family.replace('_', ' ')}"
        yield name, "\n\n".join([title, *map(_operator, members)]) + "\n"
        rows.append((f"[{family.replace('_', ' ')}]({name}.md)", ", ".join(f"`{one.name}`" for one in members)))
    contents = "\n".join(f"operators-{family.replace('_', '-')}" for family in families)
    intro = "Every function of `ep.ops`; [Operators and their kernels](../operators.md) says what an operator is."
    yield (
        "operators",
        f"# Functions of ep.ops\n\n{intro}\n\n{_table(('family', 'functions'), rows)}\n\n{_toctree(contents)}",
    )


def _operator(operator: Operator) -> str:
    function = getattr(ep.ops, operator.name)
    also = f"Also `{'`, `'.join(operator.aliases)}`.\n\n" if operator.aliases else ""
    call = _code(_call(f"ep.ops.{operator.name}(", function))
    return f"## {operator.name}\n\n{call}\n\n{also}{_prose(operator.meaning)}"


# Markdown


def _prose(docstring: str) -> str:
    """Return a docstring as Markdown: entries `name: meaning` become a list."""
    paragraphs = []
    for paragraph in docstring.split("\n\n"):
        lines, entries = paragraph.splitlines(), 0
        for position, line in enumerate(lines):
            if re.match(r"\w+(, \w+)*: ", line):
                names_, _, meaning = line.partition(": ")
                lines[position] = f"- **{names_}**: {meaning}"
                entries += 1
            elif entries:
                lines[position] = "  " + line.strip()
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


def _summary(docstring: str) -> str:
    found = _SUMMARY.match(docstring)
    return " ".join((found[1] if found else docstring).split())


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in lines)


def _toctree(contents: str) -> str:
    return f"```{{toctree}}\n:hidden:\n\n{contents}\n```\n"
