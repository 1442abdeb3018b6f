"""Writes the pages of the manual that are made from the contracts and the declared operators.

`docs/conf.py` calls `write` whenever the manual is built: the pages are not part of the repository.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import ep.ops
from ep import testing
from ep.cli import data_types, names
from ep.cli.show import support, without_keys
from ep.include.primitive import Primitive, registered
from ep.include.primitive.op_table import attributes_of
from ep.ops.declare.operator import Operator, operators
from ep.testing import keys, plugin

_EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
_ENTRY = re.compile(r"\w+(?:, \w+)*: ")
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
    """Return the text of each page: one for each primitive, each family of operators and each part of the rest of the
    interface, and those that list them."""
    return {f"{name}.md": text for name, text in (*_primitives(), *_operators(), *_interface())}


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
        keyword_only |= parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f"={_default(parameter.default)}"
        parameters.append(f"{stars}{parameter.name}{default}")
    line = f"{head}({', '.join(parameters)})"
    return line if len(line) <= 88 else f"{head}(\n" + "".join(f"    {one},\n" for one in parameters) + ")"


def _default(value: Any) -> str:
    return "..." if callable(value) and not isinstance(value, type) else repr(value)


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


@cache
def _families() -> dict[str, dict[str, str]]:
    """Return the texts of all functions of `ep.ops`, by family and name."""
    families: dict[str, dict[str, str]] = {}
    for operator in operators():
        families.setdefault(operator.family, {})[operator.name] = _operator(operator)
    known = {name for one in operators() for name in (one.name, *one.aliases)}
    for name in (one for one in ep.ops.__all__ if one not in known):
        family = getattr(ep.ops, name).__module__.rpartition(".")[2]
        families.setdefault(family.replace("ops", "binary"), {})[name] = _function(name)
    return families


def _operators() -> Iterator[tuple[str, str]]:
    rows = []
    for family, members in _families().items():
        name = _page_of_family(family)
        title = f"# Operators: {family.replace('_', ' ')}"
        yield name, "\n\n".join([title, *members.values()]) + "\n"
        links = ", ".join(f"[`{each}`]({name}.md#{_anchor(each)})" for each in members)
        rows.append((f"[{family.replace('_', ' ')}]({name}.md)", links))
    contents = "\n".join(map(_page_of_family, _families()))
    intro = "Every function of `ep.ops`; [Operators and their kernels](../operators.md) says what an operator is."
    yield (
        "operators",
        f"# Functions of ep.ops\n\n{intro}\n\n{_table(('family', 'functions'), rows)}\n\n{_toctree(contents)}",
    )


def _page_of_family(family: str) -> str:
    return f"operators-{family.replace('_', '-')}"


def _anchor(name: str) -> str:
    return name.lower().replace("_", "-")


@cache
def descriptions() -> dict[str, str]:
    """Return the page and anchor that describe a function or class, by the names that users write: `ep.ops.gather` and
    `gather`."""
    found = {interface.__name__: _page(interface) + ".md" for interface in interfaces()}
    for family, members in _families().items():
        for name in members:
            found[f"ep.ops.{name}"] = found[name] = f"{_page_of_family(family)}.md#{_anchor(name)}"
    for operator in operators():
        for alias in operator.aliases:
            found[f"ep.ops.{alias}"] = found[alias] = found[operator.name]
    for page, (_, module, names_) in _INTERFACE.items():
        for name in names_:
            found[f"{module}.{name}"] = found[name] = f"{page}.md#{_anchor(name)}"
    return found


def _operator(operator: Operator) -> str:
    function = getattr(ep.ops, operator.name)
    also = f"Also `{'`, `'.join(operator.aliases)}`.\n\n" if operator.aliases else ""
    call = _code(_call(f"ep.ops.{operator.name}(", function))
    return f"## {operator.name}\n\n{call}\n\n{also}{_prose(operator.meaning)}"


def _function(name: str) -> str:
    """Return the text of a function that has no operator of its own, or is another one of an operator."""
    function = getattr(ep.ops, name)
    return f"## {name}\n\n{_code(_call(f'ep.ops.{name}(', function))}\n\n{_prose(inspect.getdoc(function) or '')}"


# The rest of the interface

_INTERFACE: Final = {
    "registry": ("The registry", "ep", ("NewPrimitive", "RequirePrimitive", "DeviceManagerRegistry")),
    "devices": ("Devices", "ep.include", ("Device", "Stream", "Event", "AllocationOptions", "DeviceManager")),
    "expressions": ("Fusing and gradients", "ep", ("fuse", "lazy", "grad", "value_and_grad")),
    "models": ("ONNX models", "ep.onnx", ("load", "Model")),
    "kernels-of-packages": ("Kernels of packages", "ep.ops.kernels", ("register_kernel",)),
    "arrays": ("Arrays of a device", "ep.include.arrays", ("DeviceArrays", "Arrays")),
    "array-operators": ("Python's operators on arrays", "ep.common.arrays.operators", ("Operators",)),
}
"""Pages: a title, the module that users import from, and names in it."""


def _interface() -> Iterator[tuple[str, str]]:
    for page, (title, module, members) in _INTERFACE.items():
        found = [_member(module, getattr(import_module(module), name)) for name in members]
        yield page, "\n\n".join([f"# {title}", f"In `{module}`.", *found]) + "\n"
    yield "testing", _testing()
    rows = [
        (f"[{title}]({page}.md)", ", ".join(f"`{name}`" for name in names))
        for page, (title, _, names) in _INTERFACE.items()
    ]
    rows.append(("[The tests for devices](testing.md)", "`ep.testing`"))
    contents = "\n".join([*_INTERFACE, "testing"])
    yield "interface", f"# Classes and functions\n\n{_table(('page', 'names'), rows)}\n\n{_toctree(contents)}"


def _member(module: str, member: Any) -> str:
    """Return the signature and the docstring of a function, or of a class and its public methods."""
    name = member.__name__
    if not isinstance(member, type):
        return f"## {name}\n\n{_code(_call(f'{module}.{name}(', member))}\n\n{_prose(inspect.getdoc(member) or '')}"
    parts = [f"## {name}", _prose(inspect.getdoc(member) or "")]
    if "__call__" in vars(member):
        call = vars(member)["__call__"]
        parts += [f"### Calls of {name}", _code(_call(f"{name.lower()}(", call)), _prose(inspect.getdoc(call) or "")]
    for what, value in inspect.getmembers(member):
        declared = next((vars(base)[what] for base in member.__mro__ if what in vars(base)), None)
        if what.startswith("_") or not inspect.getdoc(value) or declared is None:
            continue
        if callable(value) and not isinstance(value, type):
            parts += [f"### {name}.{what}", _code(_call(f"{what}(", value)), _prose(inspect.getdoc(value) or "")]
        elif isinstance(declared, (property, cached_property)):
            parts += [f"### {name}.{what}", _prose(inspect.getdoc(declared) or "")]
    return "\n\n".join(parts)


class _Options:
    """What a plugin adds to pytest, as a table's rows."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str]] = []

    def addoption(self, *names: str, help: str, **_: Any) -> None:
        self.rows.append((f"`{'`, `'.join(names)}`", help))

    def addini(self, name: str, help: str, **_: Any) -> None:
        self.rows.append((f"`{name}` in pytest's configuration", help))


def _testing() -> str:
    options = _Options()
    plugin.pytest_addoption(options)  # type: ignore[arg-type]
    table = _table(("option", "what it does"), options.rows)
    marks = [_member("ep.testing.keys", mark) for mark in (keys.every_key, keys.some_key, keys.those_keys, keys.needs)]
    return "\n\n".join(["# The tests for devices", _prose(inspect.getdoc(testing) or ""), table, *marks]) + "\n"


# Markdown


def _prose(docstring: str) -> str:
    """Return a docstring as Markdown: entries `name: meaning` become a list."""
    paragraphs = []
    for paragraph in docstring.split("\n\n"):
        if _ENTRY.match(paragraph):
            paragraph = re.sub(rf"([.;])\s({_ENTRY.pattern})", r"\1\n\2", paragraph)
        lines, entries = paragraph.splitlines(), 0
        for position, line in enumerate(lines):
            if _ENTRY.match(line):
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
