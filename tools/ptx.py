"""The contents of the PTX of a kernel, and the report of ptxas. Nothing here needs a device."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from tools.gpus import pipe_of


@dataclass(frozen=True)
class Instructions:
    """The instructions of one kernel.

    accesses: the number of accesses to global memory of each kind, such as "ld.v4.f32".
    """

    accesses: Counter[str]
    local: int
    float64: int
    division64: int
    calls: int

    @property
    def widest_load(self) -> int:
        """Return the bytes of the widest load from global memory; 0 if there is none."""
        return max((_bytes(access) for access in self.accesses if access.startswith("ld")), default=0)

    @property
    def widest_store(self) -> int:
        """Return the bytes of the widest store to global memory; 0 if there is none."""
        return max((_bytes(access) for access in self.accesses if access.startswith("st")), default=0)


def instructions(text: str) -> Instructions:
    """Read a kernel's PTX."""
    _, _, body = text.partition(".entry")
    accesses = Counter(
        f"{kind}{vector}.{element}"
        for kind, vector, element in re.findall(r"\b(ld|st)\.global(?:\.nc|\.cs)?(\.v[24])?\.([a-z]\d+)", body)
    )
    return Instructions(
        accesses,
        local=len(re.findall(r"\.local\b", body)),
        # the types of registers are not instructions
        float64=len(re.findall(r"^\s*(?:@!?%p\d+ )?[a-z][\w.]*\.f64\b", body, re.MULTILINE)),
        division64=len(re.findall(r"\b(?:div|rem)\.[su]64", body)),
        calls=len(re.findall(r"\bcall\b", body)),
    )


def _bytes(access: str) -> int:
    lanes = re.search(r"\.v([24])", access)
    width = re.search(r"(\d+)$", access)
    return (int(lanes[1]) if lanes else 1) * int(width[1] if width else 0) // 8


@dataclass(frozen=True)
class Loop:
    """The loop of a kernel that moves the most bytes: one iteration of one thread, without inner loops.

    instructions: those of PTX, some of which become two machine instructions; loaded, stored: bytes of global memory;
    pipes: the numbers of instructions that occupy certain pipes: see `gpus.pipe_of`.
    """

    instructions: int
    loaded: int
    stored: int
    pipes: Counter[str] = field(default_factory=Counter)

    @property
    def moved(self) -> int:
        """Return the bytes of global memory that are loaded or stored."""
        return self.loaded + self.stored


def main_loop(text: str) -> Loop:
    """Return the loop with most of a kernel's work; the whole kernel if it has no loop."""
    return max(loops_of(text), key=lambda loop: (loop.moved, loop.stored))


def loops_of(text: str) -> list[Loop]:
    """Return all loops of a kernel, in the order of their ends; the whole kernel if it has none."""
    _, _, body = text.partition(".entry")
    lines = [line.strip() for line in body.splitlines() if line.strip() and not line.strip().startswith((".", "//"))]
    labels = {line[:-1]: place for place, line in enumerate(lines) if line.endswith(":")}
    loops = [(0, len(lines) - 1)]
    for place, line in enumerate(lines):
        if (branch := re.search(r"\bbra(?:\.uni)?\s+([$\w]+);", line)) and labels[branch[1]] <= place:
            loops.append((labels[branch[1]], place))
    return [_turn(lines, loop, loops) for loop in loops[1:] or loops]


def _turn(lines: list[str], loop: tuple[int, int], loops: list[tuple[int, int]]) -> Loop:
    first, last = loop
    inside = [other for other in loops if other != loop and first <= other[0] and other[1] <= last]
    places = (place for place in range(first, last + 1) if not any(a <= place <= b for a, b in inside))
    own = [line for line in (lines[place] for place in places) if line.endswith(";")]
    accesses = instructions(".entry\n" + "\n".join(own)).accesses
    loaded, stored = (
        sum(count * _bytes(access) for access, count in accesses.items() if access.startswith(kind))
        for kind in ("ld", "st")
    )
    names = (re.match(r"(?:@!?%p\d+\s+)?([a-z][\w.]*)", line) for line in own)
    pipes = Counter(pipe for name in names if name and (pipe := pipe_of(name[1])))
    return Loop(len(own), loaded, stored, pipes)


@dataclass(frozen=True)
class Resources:
    """The report of ptxas on one kernel, in registers and bytes."""

    registers: int
    shared: int
    stack: int
    spill_stores: int
    spill_loads: int
    code: int


def find_ptxas() -> str | None:
    """Return the ptxas of the nvidia-cuda-nvcc package, which accepts the PTX of its release, else that on the path."""
    try:
        files = metadata.files("nvidia-cuda-nvcc") or ()
    except metadata.PackageNotFoundError:
        files = ()
    for file in files:
        if file.name == "ptxas" and (path := Path(str(file.locate()))).exists():
            return str(path)
    return shutil.which("ptxas")


def resources(ptxas: str, text: str, cc: tuple[int, int]) -> Resources:
    """Assemble a kernel; CalledProcessError if ptxas refuses it."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(text)
        command = [ptxas, f"-arch=sm_{cc[0]}{cc[1]}", "-v", str(source), "-o", str(cubin)]
        report = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        code = cubin.stat().st_size

    def number(pattern: str) -> int:
        return sum(map(int, re.findall(pattern, report)))

    return Resources(
        number(r"Used (\d+) registers"),
        number(r"(\d+) bytes smem"),
        number(r"(\d+) bytes stack frame"),
        number(r"(\d+) bytes spill stores"),
        number(r"(\d+) bytes spill loads"),
        code,
    )
