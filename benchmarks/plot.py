"""The roofline plot: achieved bandwidth by size, a line per implementation, one panel per case."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

Result = dict[str, Any]

_PREFERRED: Final = (
    *(("unary", "relu"), ("unary", "gelu"), ("binary", "add, same shape"), ("binary", "add, row")),
    *(("where", "where, one shape"), ("cast", "cast to float16"), ("add", "add 4 operands")),
    *(("expand", "alternating axes"), ("permute", "matrix"), ("pad", "pad images"), ("copy_nd", "box")),
    *(("fill", "fill"), ("one_hot", "one-hot of 10"), ("gather", "rows of 64 B"), ("gather", "rows of 3072 B")),
    *(("batch_gather", "rows of 64 B, 16 batches"), ("segment_sum", "sum of words' gradients")),
    *(("reduce", "sum, last axis"), ("reduce", "sum, first axis")),
    *(("softmax", "softmax, 1024 columns"), ("softmax", "softmax, gradient")),
)
_MOST_PANELS: Final = 21
_COLORS: Final = {"ep": "C3", "numpy": "C0", "torch": "C1", "numexpr": "C2", "jax": "C4", "onnxruntime": "C5"}


def panels(results: Sequence[Result]) -> list[list[Result]]:
    """The results of one panel each, ascending in size: well-known cases first, then others, of three sizes or more."""
    found: dict[tuple[str, str, str], list[Result]] = {}
    for result in results:
        if result["seconds"]:
            found.setdefault((result["set"], result["case"], result["dtype"]), []).append(result)
    many = {name: sorted(rows, key=lambda r: r["bytes"]) for name, rows in found.items() if len(rows) > 2}
    float32 = [name for pair in _PREFERRED if (name := (*pair, "float32")) in many]
    chosen = [*float32, *(name for name in many if name not in float32)]
    return [many[name] for name in chosen[:_MOST_PANELS]]


def draw(results: Sequence[Result], copy_gb_per_s: float, title: str, path: Path) -> None:
    """Write the plot to `path`."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawn = panels(results)
    if not drawn:
        raise ValueError("nothing to plot: no case was measured at three sizes or more")
    columns = min(3, len(drawn))
    rows = -(-len(drawn) // columns)
    height = 3.6 * rows + 0.6
    figure, axes = pyplot.subplots(rows, columns, figsize=(5 * columns, height), squeeze=False)
    for axis in axes.flat[len(drawn) :]:
        axis.remove()
    for axis, panel in zip(axes.flat, drawn, strict=False):
        for name, color in _COLORS.items():
            points = [(r["bytes"], r["bytes"] / r["seconds"][name] / 1e9) for r in panel if name in r["seconds"]]
            if points:
                width = 2.5 if name == "ep" else 1
                axis.plot(*zip(*points, strict=True), color=color, label=name, marker=".", lw=width)
        axis.axhline(copy_gb_per_s, color="0.4", ls="--", lw=1, label="copy of 128 MiB")
        axis.set(xscale="log", yscale="log", xlabel="bytes read and written", ylabel="GB/s")
        axis.set_xscale("log", base=2)
        axis.set_title(f"{panel[0]['set']}: {panel[0]['case']}, {panel[0]['dtype']}", fontsize=10)
        axis.grid(alpha=0.3)
    legends = [zip(*axis.get_legend_handles_labels(), strict=True) for axis in figure.axes]
    by_label = {label: handle for legend in legends for handle, label in legend}
    figure.legend(by_label.values(), by_label.keys(), loc="lower center", ncol=len(by_label), frameon=False)
    figure.suptitle(title, fontsize=11)
    figure.tight_layout(rect=(0, 0.5 / height, 1, 1 - 0.3 / height))
    figure.savefig(path, dpi=80)
    pyplot.close(figure)
