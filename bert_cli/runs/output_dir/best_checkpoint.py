"""Directory best/ with a run's best checkpoint, and best.json. No TensorFlow.

best/ is a complete model directory, with copies of run.json, flags.txt, config, vocabulary and
labels, so every command accepts it as --init_checkpoint. best.json names the subdirectory that
commands use as the model, if the file exists (weights.path.model_folder).
"""

import os
import re
from collections.abc import Collection, Mapping
from typing import Any

from bert_cli.base import files
from bert_cli.base.names import (
    BEST,
    BEST_FILE,
    CHECKPOINT,
    CONFIG,
    FLAGS,
    LABELS,
    MANIFEST,
    STATE,
    TOKENIZER_CONFIG,
    VOCABULARY,
)
from bert_cli.base.writing import atomic_write, copy_file, write_json
from bert_cli.runs.output_dir.manifest import FILES, read_manifest
from bert_cli.runs.output_dir.owned_files import owned_names

_COMPANIONS = (FLAGS, CONFIG, LABELS, VOCABULARY, TOKENIZER_CONFIG)
CHECKPOINT_FILE = re.compile(re.escape(CHECKPOINT) + r"(\d+)\.(index|data-\d{5}-of-\d{5})")


def prepare(folder: str) -> str:
    """Make best/, copy the run's config, vocabulary and labels into it, and return its path."""
    best = os.path.join(folder, BEST)
    files.make_directory(best)
    present = [name for name in _COMPANIONS if files.exists(os.path.join(folder, name))]
    manifest = read_manifest(folder) or {}
    write_json(os.path.join(best, MANIFEST), manifest | {FILES: [MANIFEST, STATE, *present]})
    for name in present:
        copy_file(os.path.join(folder, name), os.path.join(best, name))
    return best


def write_choice(folder: str, chosen: str, facts: Mapping[str, Any]) -> None:
    """Write best.json.

    Args:
        folder: run directory.
        chosen: subdirectory with the chosen model.
        facts: reason for the choice, for example the metric, its value and the step.
    """
    write_json(os.path.join(folder, BEST_FILE), {"folder": chosen, **facts})


def keep_steps(folder: str, steps: Collection[int]) -> None:
    """Remove all checkpoints from best/ except at `steps`."""
    best = os.path.join(folder, BEST)
    # Remove the index first: without it, the data files are not taken for a checkpoint.
    for name in sorted(files.list_directory(best), reverse=True):
        match = CHECKPOINT_FILE.fullmatch(name)
        if match and int(match[1]) not in steps:
            files.remove(os.path.join(best, name))


def remove(folder: str) -> None:
    """Remove best.json and the files that our runs wrote into best/, and keep other files."""
    files.remove(os.path.join(folder, BEST_FILE))
    best = os.path.join(folder, BEST)
    owned = owned_names(best) if files.is_directory(best) else set()
    if MANIFEST not in owned:
        return
    keep_steps(folder, ())
    for name in sorted(owned, key=lambda name: name == MANIFEST):
        files.remove(os.path.join(best, name))
    if not files.is_remote(best) and not os.listdir(best):
        os.rmdir(best)


def name_step(folder: str, step: int) -> None:
    """Write the file `checkpoint` of best/, so that it names the checkpoint of `step`.

    In a training directory, the same file names the newest checkpoint.
    """
    path = os.path.join(folder, BEST, STATE)
    lines = [f'{key}: "{CHECKPOINT}{step}"\n' for key in ("model_checkpoint_path", "all_model_checkpoint_paths")]
    with atomic_write(path) as file:
        file.writelines(lines)
