"""Check that --overwrite_output_dir does not remove the run's own inputs."""

import os
from collections.abc import Iterator
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import MANIFEST, RANDOM, STANDARD
from bert_cli.base.remote import is_remote
from bert_cli.flags.option import Flag, every_flag, flag_values
from bert_cli.runs.output_dir.best_checkpoint import CHECKPOINT_FILE
from bert_cli.runs.output_dir.owned_files import owned_names, present_names

_OUTPUTS = ("output_dir", "output_file")
_DATA = "data_dir"  # files in it have names that runs do not write


def check_inputs(settings: Any) -> None:
    """Raise InputError if the run would remove a file or directory that it uses as input.

    Args:
        settings: flag values, with --overwrite_output_dir.
    """
    removed = list(_removed_paths(settings.phases.output_dir))
    if not removed:
        return
    for flag, path in _inputs(settings):
        real = files.resolve(path)
        # Flags name a checkpoint by its prefix, and a model by its directory.
        prefixes = (real + os.sep, real + ".") if flag.name != _DATA else ()
        if any(f"{real}{os.sep}".startswith(f"{name}{os.sep}") or name.startswith(prefixes) for name in removed):
            raise InputError(f"--{flag.name}={path} lies in --output_dir, which training writes to; use another")


def cleared_names(folder: str) -> list[str]:
    """Return the sorted names that `run_folder.clear` removes: files of our runs, and best/."""
    owned = owned_names(folder)
    is_run = MANIFEST in owned
    is_checkpoint = CHECKPOINT_FILE.fullmatch
    present = present_names(folder, owned)
    return [name for name in sorted(present) if name in owned or (is_run and is_checkpoint(name))]


def _inputs(settings: Any) -> Iterator[tuple[Flag, str]]:
    """Yield each input flag with the paths that it names; patterns are expanded."""
    values = flag_values(settings)
    for flag in every_flag(type(settings)):
        value = values.get(flag.name)
        if not (flag.is_file and isinstance(value, str)) or flag.name in _OUTPUTS or value in ("", RANDOM, STANDARD):
            continue
        # A tensorflow-hub address is not a file, and looking one up takes a while.
        if is_remote(value) and not is_remote(settings.phases.output_dir):
            continue
        for path in [value] if files.exists(value) else value.split(","):
            yield from ((flag, name) for name in (files.match(path) if files.is_pattern(path) else [path]))


def _removed_paths(folder: str) -> Iterator[str]:
    """Yield the paths that are removed from a run's directory and from runs in subdirectories."""
    for subfolder in ["", *files.list_directory(folder)]:
        path = os.path.join(folder, subfolder) if subfolder else folder
        if not subfolder or files.exists(os.path.join(path, MANIFEST)):
            yield from (os.path.join(files.resolve(path), name) for name in cleared_names(path))
