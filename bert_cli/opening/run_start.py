"""Comparison of a named model with the model that a training run started from."""

import os

from bert_cli.base import files
from bert_cli.base.names import BEST, BUILTIN_MODEL, CHECKPOINT, FLAGS, MANIFEST, RANDOM
from bert_cli.flags.run_flags import read_flags
from bert_cli.opening.paths import PRETRAINED
from bert_cli.run_directory.manifest import START, START_DIGEST, read_manifest
from bert_cli.weights.path import CheckpointPath, content_digest, module_folder

_START_FLAGS = ("init_checkpoint", "hub_module")


class RunStart:
    """The model that a training run started from, as its run.json and flags.txt name it.

    Attributes:
        folder: directory with the run's run.json.
        name: path of the model; None if the run started from random weights, or is unknown.
        is_known: whether there is a run.json that names it.
    """

    def __init__(self, folder: str):
        """Read a run's files; raise InputError if one is damaged.

        Args:
            folder: directory with the run's checkpoints.
        """
        manifest = read_manifest(os.path.join(folder, MANIFEST)) or {}
        self.folder = folder
        self.is_known = START in manifest
        name = manifest.get(START)
        self.name = name if isinstance(name, str) else None
        self._digest = manifest.get(START_DIGEST)
        self._flags = read_flags(os.path.join(folder, FLAGS))

    @property
    def description(self) -> str:
        """Return the model's name for messages."""
        if not self.is_known:
            return "an unknown model"
        return self.name or f"{RANDOM} weights"

    def is_random(self) -> bool:
        """Return whether the run started from random weights."""
        return self.is_known and self.name is None

    def is_checkpoint(self, path: str, checkpoint: CheckpointPath) -> bool:
        """Return whether the run started from this checkpoint.

        A directory is also its checkpoints, as the run may have started from an older one.

        Args:
            path: path that names the checkpoint in a flag.
            checkpoint: the checkpoint at this path.
        """
        if self.name is None:
            return False
        if self.name == BUILTIN_MODEL:
            return files.resolve(checkpoint.location) == files.resolve(PRETRAINED)
        names = {_real_path(path), _real_path(checkpoint.argument)}
        if names & self._real_paths() or _is_in_folder(self.name, path):
            return True
        return self._digest == content_digest(checkpoint) if self._digest else self._is_moved(checkpoint)

    def is_module(self, handle: str) -> bool:
        """Return whether the run started from a tensorflow-hub module.

        Args:
            handle: value of --hub_module.
        """
        if self.name is None:
            return False
        # Do not look for the module: it may be a URL or an archive.
        inner = None if files.is_remote(handle) or not files.is_directory(handle) else module_folder(handle)
        return bool({_real_path(path) for path in (handle, inner) if path} & self._real_paths())

    def _real_paths(self) -> set[str]:
        paths = (self.name, *(self._flags.get(flag) for flag in _START_FLAGS))
        return {_real_path(path) for path in paths if path and path != RANDOM}

    def _is_moved(self, checkpoint: CheckpointPath) -> bool:
        """Return whether the checkpoint is the run's start in a directory that was moved since.

        This is for runs without a digest, which older versions and runs from shards do not have.
        """
        if self.name is None or files.is_remote(self.name) or _exists(self.name):
            return False
        # The directory was moved alone, with an unchanged name, or with the run next to it.
        if _last_names(self.name) == _last_names(checkpoint.argument):
            return True
        output_dir = self._flags.get("output_dir")
        if not output_dir or files.is_remote(output_dir):
            return False
        parent, name = os.path.split(os.path.abspath(self.folder))
        run_folder = parent if name == BEST else self.folder
        return os.path.relpath(self.name, output_dir) == os.path.relpath(
            _real_path(checkpoint.argument), files.resolve(run_folder)
        )


def _exists(path: str) -> bool:
    # Use os.path: a directory that cannot be searched any more is no reason to stop.
    return os.path.exists(path) or os.path.exists(f"{path}.index")


def _real_path(path: str) -> str:
    """Return a path without links; for a TF1 checkpoint, the path of its index file."""
    path = path.rstrip("/") or path
    index = f"{path}.index"
    return files.resolve(index if not files.is_remote(path) and files.exists(index) else path)


def _is_in_folder(prefix: str, folder: str) -> bool:
    """Return whether a training directory, or its best/, holds the checkpoint with this prefix."""
    if not (os.path.basename(prefix).startswith(CHECKPOINT) and files.is_directory(folder)):
        return False
    parent = files.resolve(os.path.dirname(prefix))
    return parent in (files.resolve(folder), files.resolve(os.path.join(folder, BEST)))


def _last_names(path: str) -> list[str]:
    """Return the names that identify a checkpoint: a prefix needs its directory's name."""
    return os.path.abspath(path).split(os.sep)[-2:]
