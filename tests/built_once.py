"""Directories that the workers of this run share, such as trained models."""

import fcntl
import json
import pathlib
import shutil
from collections.abc import Callable

Snapshot = dict[str, tuple[int, int]]


def snapshot(folder: pathlib.Path) -> Snapshot | None:
    """Return size and time of change (ns) of everything in a directory, or None if it is missing."""
    if not folder.is_dir():
        return None
    states = {str(path.relative_to(folder)): path.stat() for path in [folder, *folder.rglob("*")]}
    return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in states.items()}


class BuiltOnce:
    """Directories that the first worker in need of them builds, and that later ones reuse.

    They live as long as pytest's temporary directory of this run. So no test sees what an earlier
    version has built, and two parallel runs never meet.
    """

    def __init__(self, base: pathlib.Path):
        """Use `base`, a directory of this run that all its workers share."""
        self._base = base
        self._base.mkdir(exist_ok=True)
        self._used: dict[str, Snapshot] = {}

    def __call__(self, name: str, build: Callable[[pathlib.Path], object]) -> pathlib.Path:
        """Return the directory `name`, which must not be changed.

        Args:
            name: the directory's name. A name always has the same `build`.
            build: fills the empty directory that it is called with.
        """
        folder, complete = self._base / name, self._base / f"{name}.json"
        with open(self._base / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                if not complete.exists():
                    shutil.rmtree(folder, ignore_errors=True)  # left by a build that failed
                    folder.mkdir()
                    build(folder)
                    complete.write_text(json.dumps(snapshot(folder)), encoding="utf-8")
            finally:
                # Unlock explicitly: a process forked during the build has this file open, too.
                fcntl.flock(lock, fcntl.LOCK_UN)
        states = json.loads(complete.read_text(encoding="utf-8"))
        self._used[name] = {path: tuple(state) for path, state in states.items()}
        return folder

    def assert_unchanged(self) -> None:
        """Check that no test changed a directory that this worker used."""
        for name, before in self._used.items():
            now = snapshot(self._base / name) or {}
            changed = [path for path in sorted(before.keys() | now.keys()) if before.get(path) != now.get(path)]
            assert not changed, f"a test changed these paths in the shared directory {name}: {changed}"
