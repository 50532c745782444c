"""best/ of a run's folder: the best checkpoint with what belongs to it, and best.json, which says
so. No TensorFlow.

best/ is a folder of its own, with copies of run.json, flags.txt, config, vocabulary and labels, so
that it is taken by every command as --init_checkpoint. best.json of a folder names the folder
within it whose model counts (weights.path.model_folder).
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
    """Make best/ and copy into it what belongs to every checkpoint of the run; returns its path."""
    best = os.path.join(folder, BEST)
    files.make_directory(best)
    present = [name for name in _COMPANIONS if files.exists(os.path.join(folder, name))]
    manifest = read_manifest(folder) or {}
    write_json(os.path.join(best, MANIFEST), manifest | {FILES: [MANIFEST, STATE, *present]})
    for name in present:
        copy_file(os.path.join(folder, name), os.path.join(best, name))
    return best


def write_choice(folder: str, chosen: str, facts: Mapping[str, Any]) -> None:
    """Write best.json: `chosen` is the name of the folder within this one whose model counts;
    facts: why.
    """
    write_json(os.path.join(folder, BEST_FILE), {"folder": chosen, **facts})


def keep_steps(folder: str, steps: Collection[int]) -> None:
    """Remove the checkpoints of best/ whose steps are not among these."""
    best = os.path.join(folder, BEST)
    # The index first: without it the data is no checkpoint.
    for name in sorted(files.list_directory(best), reverse=True):
        found = CHECKPOINT_FILE.fullmatch(name)
        if found and int(found[1]) not in steps:
            files.remove(os.path.join(best, name))


def remove(folder: str) -> None:
    """Remove best.json and what runs of ours have in best/; what others have put there stays."""
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
    """Let the `checkpoint` file of best/ name the checkpoint of this step, as it names the newest
    one in a training folder.
    """
    path = os.path.join(folder, BEST, STATE)
    lines = [f'{key}: "{CHECKPOINT}{step}"\n' for key in ("model_checkpoint_path", "all_model_checkpoint_paths")]
    with atomic_write(path) as file:
        file.writelines(lines)
