"""The files checkpoints are made of."""

import io
import json
import os
import time
from typing import Dict, Iterable, List, Optional, Tuple


def write(path: str, data: bytes, extra_seconds: float = 0.0) -> None:
    """Writes half of the file, waits for the extra time, writes the other half, and calls fsync."""
    with open(path, "wb") as file:
        file.write(data[:len(data) // 2])
        file.flush()
        time.sleep(extra_seconds)
        file.write(data[len(data) // 2:])
        file.flush()
        os.fsync(file.fileno())


def write_text(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def torch_file(step: int, state: Dict) -> bytes:
    """A zip archive like that of torch.save (its pickle is JSON here)."""
    import zipfile  # most jobs of tests need none of it  # pylint: disable=import-outside-toplevel
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", json.dumps({"step": step, "state": state}))
        archive.writestr("archive/version", "3\n")
    return buffer.getvalue()


def read_torch_file(path: str) -> Tuple[int, Dict]:
    import zipfile  # pylint: disable=import-outside-toplevel
    with zipfile.ZipFile(path) as archive:
        data = json.loads(archive.read("archive/data.pkl").decode())
    return data["step"], data["state"]


def newest(found: Iterable[Tuple[int, str]]) -> Optional[str]:
    """The path with the largest number."""
    pairs: List[Tuple[int, str]] = sorted(found)
    return pairs[-1][1] if pairs else None


def names(folder: str) -> List[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def cleans_up() -> bool:
    """One of the ranks removes the remains of an unfinished save."""
    return os.environ.get("SLURM_PROCID", "0") == "0"
