"""Makes files of this checkout readable for an ordinary user's job.

A checkout may be below a folder that only root can enter (/root, a temporary folder). Then files that jobs need are copied
to a folder of this process below /tmp, which is removed when the process ends.
"""

import atexit
import os
import shutil
import stat
import tempfile
from typing import Dict

_copies: Dict[str, str] = {}


def _open_to_all(path: str) -> bool:
    while True:
        mode = os.stat(path).st_mode
        needed = stat.S_IXOTH if stat.S_ISDIR(mode) else stat.S_IROTH
        if not mode & needed:
            return False
        if path == os.path.dirname(path):
            return True
        path = os.path.dirname(path)


def reachable(path: str) -> str:
    """The path itself, or that of a copy; a folder is copied completely. A missing file is left for its user to report."""
    path = os.path.realpath(path)
    if not os.path.exists(path) or _open_to_all(path):
        return path
    if path not in _copies:
        folder = tempfile.mkdtemp(prefix="gpreach-")
        os.chmod(folder, 0o755)
        atexit.register(shutil.rmtree, folder, True)
        copy = os.path.join(folder, os.path.basename(path))
        if os.path.isdir(path):
            shutil.copytree(path, copy)
        else:
            shutil.copy2(path, copy)
        _copies[path] = copy
    return _copies[path]
