"""The format of a cached file: a magic number, a digest, and the contents.

The digest is of the contents and of the name of the file. It does not match a file that was damaged, cut short, or put
in another's place. It does not show who wrote the file: `ownership` checks that.
"""

from __future__ import annotations

import hashlib
from typing import Final

_MAGIC: Final = b"ep-kernel-1\n"  # the number is the version of the format: of this header and of the contents
_DIGEST_BYTES: Final = hashlib.sha256().digest_size


def pack(name: str, contents: bytes) -> bytes:
    """Return the bytes of the file `name` with `contents`."""
    return b"".join((_MAGIC, _digest(name, contents), contents))


def unpack(name: str, packed: bytes) -> bytes | None:
    """Return the contents of the file `name`, or None if `packed` is not a result of `pack` for that name."""
    begin = len(_MAGIC) + _DIGEST_BYTES
    digest, contents = packed[len(_MAGIC) : begin], packed[begin:]
    if not packed.startswith(_MAGIC) or digest != _digest(name, contents):
        return None
    return contents


def _digest(name: str, contents: bytes) -> bytes:
    digest = hashlib.sha256(_MAGIC)
    digest.update(f"{len(name)} {name}\n".encode())
    digest.update(contents)
    return digest.digest()
