"""List the primitives that ONNX models need on a device, by their share of the time, and which of them it lacks.

  ep coverage numpy model.onnx
  ep coverage numpy a.onnx b.onnx --shape ids=1,128

Each model runs once on random inputs, and the other device computes what the first one has no kernels for. Then the
other device, the CPU by default, computes each operator of the models alone, on random numbers. The time of a call is
the median of some runs. An operator counts for each primitive that it needs, so shares may add up to more than 100 %.
Sizes that are free are 1, unless --shape gives them.

It needs the extra onnx. No code of a model is run.
"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Final

import numpy as np

from ep.bench.timing import interleaved
from ep.cli import models, names, output, text
from ep.cli.bench_model import inputs_of, random_array
from ep.cli.computing import REFUSALS, device_of, refused
from ep.cli.parser import Parser
from ep.include.device_type import DeviceType
from ep.include.primitive.primitive import Request

_SECONDS: Final = 0.02


def add_arguments(parser: Parser) -> None:
    """Add the arguments of `ep coverage`."""
    parser.add_argument("device", type=names.device_type, help="such as numpy")
    parser.add_argument("model", type=Path, nargs="+", help="an ONNX file")
    models.add_shape(parser)
    models.add_otherwise(parser, DeviceType.kCPU)
    output.add_format(parser, "table", "json")


def run(arguments: Namespace) -> int:
    """Print the primitives, those of the largest share first."""
    device, other = arguments.device, arguments.otherwise
    for one in (device, other):
        device_of(one)  # raises the error of a device on which operators do not run
    counts, calls = Counter[Hashable](), dict[Hashable, Any]()
    for path, model in _loaded(arguments).items():
        given = [one for one in arguments.shape if one[0] in {each.name for each in model.inputs}]
        with output.status(f"{path}: runs once"):
            try:
                found = model.calls(inputs_of(model, models.shapes_of(model, given)))
            except REFUSALS as error:
                raise refused(error) from error
        for node, operands in found:
            described = *((one.shape, one.data_type) for one in operands), node.operator.key(node.attributes)
            counts[node.name, described] += 1
            calls[node.name, described] = node, operands
    primitives, seconds, has = _primitives(device, other, [(*calls[key], count) for key, count in counts.items()])
    if arguments.format == "json":
        about = {"device": device.tag, "otherwise": other.tag, "seconds": seconds, "has_share": has / (seconds or 1)}
        output.as_json(about | {"primitives": primitives})
        return 0
    unit, times = text.column([one["seconds"] for one in primitives])
    rows = [
        (
            one["primitive"],
            "yes" if one["has"] else "no",
            ", ".join(one["operators"]),
            f"{one['calls']:,}",
            time,
            f"{one['share']:.1%}",
        )
        for one, time in zip(primitives, times, strict=True)
    ]
    columns = ("primitive", f"on {device.tag}", "operators", "calls", f"{other.tag}, {unit}", "share")
    output.table(columns, rows, right=columns[3:])
    output.paragraph(
        f"Operators for which {device.tag} has all primitives take {has / (seconds or 1):.1%} of the time."
    )
    return 0


def _loaded(arguments: Namespace) -> dict[Path, Any]:
    """Return the models; WrongArgumentError for a shape of an input that none has."""
    loaded = {path: models.load(path, arguments.device, arguments.otherwise) for path in arguments.model}
    inputs = dict.fromkeys(one.name for model in loaded.values() for one in model.inputs)
    models.by_name("--shape", arguments.shape, [*inputs])
    return loaded


def _primitives(device: DeviceType, other: DeviceType, calls: Any) -> tuple[list[dict[str, Any]], float, float]:
    """Return a row for each primitive, the seconds of all operators, and of those that the device has kernels for.

    calls: the first result of each call, its operands, and how often it occurs.
    """
    rows, total, on_device = dict[tuple[str, bool], dict[str, Any]](), 0.0, 0.0
    for node, operands, count in calls:
        with output.status(f"{node.name} on {other.tag}"):
            seconds = count * _seconds(other, node, operands)
        needs = node.operator.needs(device, [one.data_type for one in operands], node.attributes)
        if needs is None:
            found = {(f"no primitive helps {node.name}", False)}
        else:
            found = {(str(Request(one.interface, one.op, one.dtypes)), has) for one, has in needs}
        total += seconds
        on_device += seconds * all(has for _, has in found)
        for primitive, has in found:
            empty = {"primitive": primitive, "has": has, "operators": [], "calls": 0, "seconds": 0.0}
            row = rows.setdefault((primitive, has), empty)
            row["operators"] = sorted({*row["operators"], node.name})
            row["calls"] += count
            row["seconds"] += seconds
    for row in rows.values():
        row["share"] = row["seconds"] / (total or 1)
    return sorted(rows.values(), key=lambda row: (-row["seconds"], row["primitive"])), total, on_device


def _seconds(device_type: DeviceType, node: Any, operands: Any) -> float:
    """Return the time of an operator on a device."""
    from ep.common.arrays.on_device import arrays_on, copied_from_host

    arrays, rng = arrays_on(device_type).kept(), np.random.default_rng(0)
    inputs = [copied_from_host(arrays, random_array(rng, one.shape, one.dtype, 1)) for one in operands]
    plan = node.operator.prepare(device_type, inputs, node.attributes)

    def compute() -> None:
        plan.compute(arrays, inputs)
        arrays.stream.Sync()

    return interleaved({"": compute}, _SECONDS)[""].median
