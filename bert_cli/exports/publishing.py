"""Where bert-export writes to: a folder that is its own, and that appears whole."""

import contextlib
import os
from collections.abc import Iterator

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.writing import publish_folder, staging_folder
from bert_cli.exports.onnx_files import FILES

# What an export leaves in its folder; what else stands there is not ours to replace.
_OURS = {"saved_model.pb", "variables", "assets", "fingerprint.pb", "encoder", "preprocess"} | FILES


def check_target(folder: str, overwrite: bool) -> None:
    """InputError unless an export may stand in `folder`: it must be missing or empty, or hold one to replace."""
    files.check_can_write(folder, "export_dir")
    names = files.list_directory(folder)
    foreign = [name for name in names if name not in _OURS]
    if foreign:
        raise InputError(f"{folder}: holds {foreign[0]}, which no export put there; give another --export_dir")
    if names and not overwrite:
        raise InputError(
            f"{folder}: is not empty; give another --export_dir, or --overwrite to replace the export there"
        )


@contextlib.contextmanager
def exporting(folder: str) -> Iterator[str]:
    """A path for the folder to be written, on the disk of `folder`, whose place it takes when the block ends well."""
    with staging_folder(folder if files.is_remote(folder) else os.path.dirname(folder)) as staged:
        new = os.path.join(staged, "export")
        yield new
        files.make_directory(os.path.dirname(folder))
        publish_folder(new, folder, last="saved_model.pb")  # a program that watches the folder loads it by this file
