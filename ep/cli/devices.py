"""List the devices: those that are present, and why the others are not."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from ep.cli import output, present
from ep.cli.parser import Parser
from ep.include.device import kMaxAlignmentRequirement
from ep.include.device_type import DeviceType
from ep.include.errors import DeviceUnavailableError, EnvironmentVariableError


def add_arguments(parser: Parser) -> None:
    """Add the options of `ep devices`."""
    output.add_format(parser, "table", "json")


def run(arguments: Namespace) -> int:
    """Print every device type with its devices."""
    described = [_describe(device_type) for device_type in present.device_types()]
    if arguments.format == "json":
        output.as_json(described)
        return 0
    rows = []
    for row in described:
        for device in row["devices"]:
            facts = [f"{name}: {value}" for name, value in device.items() if name not in ("index", "device")]
            rows.append((device["device"], "yes", ", ".join((*facts, f"alignment: {row['alignment']} bytes"))))
        if row["why_unavailable"] is not None:
            rows.append((row["tag"], "no", row["why_unavailable"]))
    output.table(("device", "present", "details"), rows)
    return 0


def _describe(device_type: DeviceType) -> dict[str, Any]:
    why = None
    try:
        found = present.devices_of(device_type)
    except (DeviceUnavailableError, EnvironmentVariableError) as error:
        found, why = [], str(error)
    except Exception as error:  # errors in another package's device must not hide the others
        found, why = [], present.one_line(error)
    return {
        "device_type": device_type.name,
        "tag": device_type.tag,
        "devices": [
            {"index": device.device_index(), "device": present.label(device), **device.facts()} for device in found
        ],
        "alignment": kMaxAlignmentRequirement,
        "why_unavailable": why,
    }
