"""Contents of files that begin with a header: a text in JSON, which says what the bytes behind it are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_LENGTH: Final = 8  # the bytes of the number of the header's bytes


def with_header(header: Mapping[str, Any], *parts: bytes) -> bytes:
    """Return contents: a header, and the parts one after another."""
    text = json.dumps(header).encode()
    return b"".join((len(text).to_bytes(_LENGTH, "little"), text, *parts))


def header_of(contents: bytes) -> tuple[dict[str, Any], int]:
    """Return the header of contents that `with_header` made, and where the first part begins."""
    begin = _LENGTH + int.from_bytes(contents[:_LENGTH], "little")
    return json.loads(contents[_LENGTH:begin]), begin
