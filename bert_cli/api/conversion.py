"""Conversion of a loaded model to Hugging Face's format."""

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from bert_cli.base import files
from bert_cli.base.writing import atomic_write, staging_folder
from bert_cli.exports.converted import convert_checkpoint
from bert_cli.exports.converted_files import write_converted
from bert_cli.exports.target import check_free, find_target, publish
from bert_cli.opening.loader import load_model
from bert_cli.sentence.conversion import find_modules
from bert_cli.sentence.modules import SentenceModules
from bert_cli.settings.groups import ModelFiles
from bert_cli.settings.tools import ModelChanges
from bert_cli.weights.path import CheckpointPath

_FLAGS = ("vocab_file", "do_lower_case", "gelu")  # arguments of `load` that bert-convert has, too


def write_hugging_face(
    checkpoint: CheckpointPath,
    arguments: Mapping[str, Any],
    folder: str,
    modules: SentenceModules | None = None,
    new_files: Mapping[str, bytes] = MappingProxyType({}),
) -> None:
    """Write a model to a directory in Hugging Face's format, as bert-convert does.

    Args:
        checkpoint: the model.
        arguments: the arguments of `load`.
        folder: the directory, which is made if it is missing.
        modules: modules of sentence-transformers to write; None for those in the model's directory.
        new_files: the model's files that are in memory alone, such as a calibration, by name.

    Raises:
        InputError: if Hugging Face's classes cannot compute the model, or the directory has one.
    """
    target = find_target(folder.rstrip("/") + "/", "hf")
    files.check_can_write(target.folder, "to")
    check_free(target, overwrite=False)
    flags = ModelFiles(**{name: arguments[name] for name in _FLAGS if arguments.get(name) is not None})
    model = load_model(flags, checkpoint, None, needs_bert=True, needs_vocab=False, to_convert=True)
    modules = modules or find_modules(checkpoint.folder, "auto")
    converted = convert_checkpoint(model, target, ModelChanges(), random_seed=0, modules=modules)
    with staging_folder(target.folder) as staging_path:
        names = write_converted(staging_path, converted)
        for name, content in new_files.items():
            with atomic_write(os.path.join(staging_path, name), "wb") as file:
                file.write(content)
        names = list(dict.fromkeys([*names, *new_files]))
        publish(staging_path, target, names, overwrite=False, is_source_folder=False)
