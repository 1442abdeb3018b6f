"""Compares the machine code of the kernels in two caches, for instance of two commits.

`EP_CACHE_DIR=/tmp/old pytest tests/cpu/test_map.py` in the old tree, the same with /tmp/new in the new one, then
`python -m tools.machine_code /tmp/old /tmp/new`. Begin with empty folders: an old state of a kernel differs, too.

Kernels are equal if their instructions and constants are, and if these refer to each other alike. Names of functions
do not count, except those that a kernel calls in the process, without the numbers that make them unique. Of one name,
a cache may have several kernels, for processors or for values that tests change: all of them must be equal. PTX and
cubins of CUDA's kernels count, too. The exit status is 1 if a kernel differs, or if no name is in both caches.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Hashable
from pathlib import Path
from typing import Final, TypeAlias

from ep.common.kernel_cache.container import unpack
from ep.common.native.elf import (
    FILE,
    NO_BITS,
    RELOCATIONS,
    bytes_of,
    name_of,
    relocations_of,
    sections_of,
    symbols_of,
)

Codes: TypeAlias = dict[str, dict[Hashable, int]]
"""The forms of each kernel, as they are compared, and the bytes of each."""

_DIGESTS: Final = re.compile(r"(-[0-9a-f]{12})?-[0-9a-f]{16}\.kernel$")
_UNIQUE: Final = re.compile(r"\d{9,}")
_ELF: Final = b"\x7fELF"
_ENVIRONMENT: Final = re.compile(r"(?m)^\.common .*NumbaEnv.*\n|//.*$")
_MANGLED: Final = re.compile(r"\b_Z[\w$]+")


def kernels(cache: Path) -> Codes:
    """Return the kernels below a folder that EP_CACHE_DIR named. Raises ValueError if a file is damaged."""
    found: Codes = {}
    for path in sorted(cache.glob("*/*.kernel")):
        contents = unpack(f"{path.parent.name}/{path.name}", path.read_bytes())
        if contents is None:
            raise ValueError(f"{path} is damaged, or of another format")
        name = f"{path.parent.name.rpartition('-')[0]}: {_DIGESTS.sub('', path.name)}"
        if (code := comparable(contents)) is not None:
            found.setdefault(name, {})[code] = len(contents)
    return found


def comparable(contents: bytes) -> Hashable:
    """Return what must be equal in two kernels, from the contents of their files; None for a file without code."""
    if contents.startswith(b"//"):
        return _of_ptx(contents.decode())
    symbols, separator, code = contents.partition(b"\0")
    if separator and code.startswith(_ELF):
        return _of_object(code, symbols.decode().split(" "))
    return _of_object(contents, []) if contents.startswith(_ELF) else None


def _of_ptx(text: str) -> str:
    """Return PTX without comments, and with its functions numbered as they appear."""
    numbers: dict[str, int] = {}
    return _MANGLED.sub(lambda name: f"function{numbers.setdefault(name[0], len(numbers))}", _ENVIRONMENT.sub("", text))


def _of_object(code: bytes, entries: list[str]) -> Hashable:
    """Return the parts of an object file that are loaded: contents, and the places of functions and addresses.

    entries: the functions that Python calls.
    """
    sections, names_of_sections = sections_of(code), FILE.unpack_from(code)[-1]
    texts = bytes_of(code, sections[names_of_sections])
    names = [name_of(section, texts) for section in sections]
    found, texts = symbols_of(code, sections)
    symbols = []
    for symbol in found:
        # or common to several files
        defined_in = names[symbol.section] if symbol.section < len(names) else symbol.section
        symbols.append((name_of(symbol, texts), defined_in, symbol.value))

    def target(index: int) -> tuple[object, int]:
        name, section, value = symbols[index]
        return (section, value) if section else (_UNIQUE.sub("", name), 0)

    loaded = [
        (name, b"" if section.kind == NO_BITS else bytes_of(code, section))
        for name, section in zip(names, sections, strict=True)
        if section.is_loaded
    ]
    addresses = [
        (names[section.info], offset, kind, target(number), addend)
        for section in sections
        if section.kind == RELOCATIONS and sections[section.info].is_loaded
        for offset, number, kind, addend in relocations_of(code, section)
    ]
    places = {name: (section, value) for name, section, value in symbols if section}
    return tuple(loaded), tuple(addresses), tuple(places[entry] for entry in entries)


def compare(old: Codes, new: Codes) -> tuple[int, list[str]]:
    """Return the number of names whose kernels are equal, and a line for each other one that both caches have."""
    both = sorted(old.keys() & new.keys())
    lines = [
        f"{name}: {_sizes(old[name], new[name])} -> {_sizes(new[name], old[name])}"
        for name in both
        if old[name].keys() != new[name].keys()
    ]
    return len(both) - len(lines), lines


def _sizes(these: dict[Hashable, int], others: dict[Hashable, int]) -> str:
    """Return the bytes of the forms that only one cache has."""
    return " and ".join(f"{size} bytes" for code, size in these.items() if code not in others) or "nothing more"


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares the machine code of the kernels in two caches.")
    parser.add_argument("old", type=Path, help="the folder that EP_CACHE_DIR named for the old tree")
    parser.add_argument("new", type=Path, help="the same for the new tree")
    args = parser.parse_args()
    try:
        old, new = kernels(args.old), kernels(args.new)
    except ValueError as error:
        sys.exit(str(error))
    equal, different = compare(old, new)
    for title, lines in (
        ("only in the old cache", sorted(old.keys() - new.keys())),
        ("only in the new cache", sorted(new.keys() - old.keys())),
        ("different", different),
    ):
        if lines:
            print(f"{title}:", *lines, sep="\n  ")
    print(f"{equal} equal, {len(different)} different")
    return 1 if different or not equal else 0


if __name__ == "__main__":
    sys.exit(main())
