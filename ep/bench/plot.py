"""The plot of achieved bandwidth by size: a panel for each case, a line for each implementation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ep.version import installs

if TYPE_CHECKING:
    from types import ModuleType

_COLORS: Final = {"ep": "C3", "numpy": "C0", "torch": "C1", "numexpr": "C2", "jax": "C4", "onnxruntime": "C5"}
_MORE_COLORS: Final = ("C6", "C8", "C9", "C7")


class Point(NamedTuple):
    """A case of one size: the bytes that it reads and writes, and the seconds of each implementation that has it."""

    num_bytes: int
    seconds: Mapping[str, float]


def check_path(path: Path) -> None:
    """Raise, before any measurement for the plot, ImportError without matplotlib, or ValueError for a bad `path`."""
    pyplot()
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    if path.suffix.removeprefix(".") not in known:
        raise ValueError(f"the name of {path} must end in one of {', '.join(f'.{suffix}' for suffix in known)}")
    if not path.parent.is_dir():
        raise ValueError(f"{path.parent} is not a folder")


def draw(panels: Mapping[str, Sequence[Point]], copies: Mapping[str, float], title: str, path: Path) -> None:
    """Write the plot to `path`, in the format of its suffix: SVG, PNG or PDF.

    panels: the points of each case by its title, ascending in size.
    copies: the GB/s to compare the bandwidth with, by name, drawn as horizontal lines.
    Raises ValueError if there are no panels, and the errors of `check_path`.
    """
    if not panels:
        raise ValueError("nothing to plot: no case was measured at three sizes or more")
    check_path(path)
    plt = pyplot()
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    height = 3.6 * rows + 0.6
    figure, axes = plt.subplots(rows, columns, figsize=(5 * columns, height), squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.remove()
    names = list(dict.fromkeys(name for points in panels.values() for point in points for name in point.seconds))
    more = iter(_MORE_COLORS)
    colors = {name: _COLORS.get(name) or next(more, "0.5") for name in names}
    for axis, (case, points) in zip(axes.flat, panels.items(), strict=False):
        for name in names:
            line = [(p.num_bytes, p.num_bytes / p.seconds[name] / 1e9) for p in points if name in p.seconds]
            if line:
                width = 1 if name in _COLORS and name != "ep" else 2.5
                axis.plot(*zip(*line, strict=True), color=colors[name], label=name, marker=".", lw=width)
        for (name, speed), style in zip(copies.items(), ("--", ":", "-.", (0, (1, 5))), strict=False):
            axis.axhline(speed, color="0.4", ls=style, lw=1, label=name)
        axis.set(xscale="log", yscale="log", xlabel="bytes read and written", ylabel="GB/s")
        axis.set_xscale("log", base=2)
        axis.set_title(case, fontsize=10)
        axis.grid(alpha=0.3)
    legends = [zip(*axis.get_legend_handles_labels(), strict=True) for axis in figure.axes]
    by_label = {label: handle for legend in legends for handle, label in legend}
    figure.legend(by_label.values(), by_label.keys(), loc="lower center", ncol=len(by_label), frameon=False)
    figure.suptitle(title, fontsize=11)
    figure.tight_layout(rect=(0, 0.5 / height, 1, 1 - 0.3 / height))
    figure.savefig(path, dpi=80)
    plt.close(figure)


def pyplot() -> ModuleType:
    """Return matplotlib's functions, which draw to files; ImportError, with advice, if it is missing."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError(f"drawing needs matplotlib: {installs('plot')}", name="matplotlib") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
