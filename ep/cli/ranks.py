"""`ep run --sbp`: one operator on all ranks of a job. Each rank reads its pieces of the files, and writes its own."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

import numpy as np

from ep.cli import npy, operators, text
from ep.cli.computing import REFUSALS, Device, device_of, refused
from ep.cli.parser import CommandError, Parser, WrongArgumentError, check_once
from ep.cli.placements import Sizes, as_sbps
from ep.include.errors import DeviceUnavailableError, EnvironmentVariableError, UnsupportedPrimitiveError
from ep.sbp import Broadcast, Partial, Sbp, Split, region_on


def add_arguments(parser: Parser) -> None:
    """Add the options for the SBPs of tensors on ranks."""
    meaning = "how an input lies on the ranks that mpiexec started, such as 'S(0)': of the first, or of the one named"
    parser.add_argument("--sbp", metavar="[INPUT=]SBP", type=_placement, action="append", default=[], help=meaning)
    parser.add_argument(
        "--mesh", metavar="N[xM]", type=Sizes("2x2"), help="the ranks as a mesh, such as 2x2 (default: one axis)"
    )


def are_asked_for(arguments: Namespace) -> bool:
    """Return whether the operator is to run on ranks."""
    return bool(arguments.sbp) or arguments.mesh is not None


def run(arguments: Namespace) -> int:
    """Compute on all ranks; the first prints the results and the moves. An error of one rank is raised on all."""
    from ep.mesh.world import world

    try:
        rank = world().rank
    except ImportError as error:
        raise refused(error) from error
    try:
        _run(arguments)
    except EnvironmentVariableError:
        raise
    except (CommandError, DeviceUnavailableError, UnsupportedPrimitiveError) as error:
        if rank == 0:
            raise
        return error.code if isinstance(error, CommandError) else 1
    except REFUSALS as error:
        if rank == 0:
            raise refused(error) from error
        return 1
    return 0


def _run(arguments: Namespace) -> None:
    from ep.mesh import Placement, reporting
    from ep.mesh.world import world

    placement = Placement(arguments.mesh or world().size)

    def planned() -> tuple[Device, operators.Computation, list[tuple[Sbp, ...]]]:
        _file(npy.target(arguments.out))  # raises before anything is computed
        device, computation = device_of(arguments.device), operators.computation(arguments)
        lies = _of_inputs(arguments.sbp, computation, len(placement.mesh))
        device.rehearse(computation)
        return device, computation, lies

    device, computation, lies = world().on_all(planned, "ep run, for the files and the kernels")
    with reporting() as report:
        placed = [_placed(one, placement, sbp, device) for one, sbp in zip(computation.inputs, lies, strict=True)]
        begin = time.perf_counter()
        result = computation.call(placed, computation.attributes)
        device.stream.Sync()
        took = text.duration(time.perf_counter() - begin)
        several = isinstance(result, list)
        results = [one.boxed(_to_write(one), "out") for one in (result if several else [result])]
    targets = npy.targets(arguments.out, several, len(results))
    for target, one in zip(targets, results, strict=True):
        _write(_file(target), one, device)
    counted = sum(world().from_all(lambda: report.sent, "ep run, for what was sent"))
    if world().rank > 0 or arguments.quiet:
        return
    for target, one in zip(targets, results, strict=True):
        shape, size = " x ".join(map(str, one.shape)) or "scalar", text.megabytes(one.size * one.dtype.itemsize)
        print(f"{target.name}: {one.dtype.name}, {shape} ({size}), computed in {took} on {placement}")
    for event in report.events:
        if event not in report.changes or event.bytes:
            print(f"  {event}")
    print(f"  in all {report.bytes:,} bytes by the cost model; {counted:,} were handed to MPI")


def _file(target: npy.Target) -> npy.Target:
    if not target.is_file:
        raise CommandError(f"{target.name} is not a file, and each rank writes its own piece of one")
    return target


def _placed(value: Any, placement: Any, sbp: tuple[Sbp, ...], device: Device) -> Any:
    """Return a tensor of which this rank has read its piece; a number as it is."""
    from ep.mesh import from_whole, to_global

    if not isinstance(value, np.ndarray):
        return value
    tensor = from_whole(value, placement, sbp)
    return to_global(device.place(tensor.to_local()), placement, sbp) if device.copies else tensor


def _to_write(tensor: Any) -> tuple[Sbp, ...]:
    """Return the SBPs with which the ranks write a tensor: partials are reduced first."""
    whole: Sbp = Split(0) if tensor.ndim else Broadcast()
    return tuple(whole if isinstance(one, Partial) else one for one in tensor.sbp)


def _write(target: npy.Target, tensor: Any, device: Device) -> None:
    """Have each rank write its piece to one file, which appears under its name when it is complete."""
    from ep.mesh.world import world

    mesh, coordinates = tensor.placement.mesh, tensor.placement.coordinates
    has_own = all(place == 0 or isinstance(sbp, Split) for place, sbp in zip(coordinates, tensor.sbp, strict=True))
    region = region_on(tensor.shape, tensor.sbp, mesh, coordinates)
    file, is_first = npy.SharedFile(target, tensor.shape, tensor.dtype), world().rank == 0
    try:
        what = f"ep run, for {target.name}"
        world().on_all(lambda: file.create() if is_first else None, what)
        world().on_all(lambda: file.fill(region, device.bring_back(tensor.to_local())) if has_own else None, what)
        world().on_all(lambda: file.publish() if is_first else None, what)
    finally:
        if is_first:
            file.discard()


def _of_inputs(
    given: Sequence[tuple[str, tuple[Sbp, ...]]], computation: operators.Computation, num_axes: int
) -> list[tuple[Sbp, ...]]:
    """Return the SBPs of each input; B by default."""
    operator = computation.operator
    names, lies = operator.input_names, {}
    check_once("--sbp", (name or names[0] for name, _ in given))
    for name, sbps in given:
        if name and name not in names:
            raise WrongArgumentError(
                f"--sbp {name}=...: {operator.name} has no input {name!r}; it has {', '.join(names)}"
            )
        if len(sbps) != num_axes:
            said = ",".join(map(str, sbps))
            raise WrongArgumentError(f"--sbp {said} is for a mesh of {len(sbps)} axes, and this one has {num_axes}")
        lies[name or names[0]] = sbps
    of_each = names if len(names) == len(computation.inputs) else names * len(computation.inputs)
    return [lies.get(name, (Broadcast(),) * num_axes) for name in of_each]


def _placement(given: str) -> tuple[str, tuple[Sbp, ...]]:
    name, _, sbps = given.rpartition("=")
    return name, as_sbps(sbps)
