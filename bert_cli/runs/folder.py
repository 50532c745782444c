"""A training run's folder: what it holds, whether a run may go on in it, and starting anew."""

import dataclasses
import hashlib
import json
import logging
import os
import re
import shutil

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.lines import read_text
from bert_cli.base.writing import atomic_write, write_json, write_lines
from bert_cli.model.config import BertConfig, ModuleConfig, write_config
from bert_cli.settings.saved import write_flags
from bert_cli.weights.path import CheckpointPath, latest_checkpoint

LOG = logging.getLogger("bert_cli")
MANIFEST = "run.json"
_OURS = re.compile(
    r"checkpoint|model\.ckpt-\d+\.(index|meta|data-\d{5}-of-\d{5})|(labels|vocab|flags|eval_results)\.txt|bert_config\.json"
    r"|(run|run_report)\.json|(test_results|predictions)\.tsv|test_predictions\.(txt|jsonl)"
    r"|((nbest_)?predictions|null_odds)\.json"
)

# Files that a run would write over; in a folder without a manifest they belong to somebody else.
_FOREIGN = ("vocab.txt", "bert_config.json", "labels.txt", "config.json", "bert_model.ckpt.index", "train.tsv")


def digest(*arrays: np.ndarray) -> str:
    """A fingerprint of arrays, for the manifest."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()[:16]


def find_state(folder: str, manifest: dict, overwrite: bool, start: CheckpointPath | None) -> str | None:
    """Prefix of the checkpoint that this run goes on from, or None for a new run.

    `manifest` is all that decides a run's result, `start` the checkpoint that a new run starts from. Raises InputError
    where the folder holds another run and `overwrite` is not set. Nothing is changed.
    """
    if start and os.path.realpath(start.folder) == os.path.realpath(folder):
        raise InputError(
            f"--init_checkpoint={start.location} lies in --output_dir, which training writes to; use another"
        )
    latest = latest_checkpoint(folder)
    path = os.path.join(folder, MANIFEST)
    if not files.exists(path):
        foreign = [name for name in _FOREIGN if files.exists(os.path.join(folder, name))]
        if foreign:
            raise InputError(
                f"{folder}: holds {foreign[0]}, which no run of ours put there: it looks like a folder of models or data; "
                "use another --output_dir"
            )
    if overwrite or latest is None:
        return None
    if not files.exists(path):
        raise InputError(
            f"{folder}: holds {os.path.basename(latest)} but no {MANIFEST}, so it cannot be told whether this run may go on "
            "from it; use another --output_dir, or --overwrite_output_dir to start anew"
        )
    try:
        before = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}:{error.lineno}: is not JSON: {error.msg}; --overwrite_output_dir starts anew"
        ) from None
    if not isinstance(before, dict):
        raise InputError(f"{path}: holds no JSON object; --overwrite_output_dir starts anew")
    now = json.loads(json.dumps(manifest))
    changes = [
        _change(key, before.get(key), now.get(key))
        for key in sorted({*before, *now})
        if before.get(key) != now.get(key)
    ]
    if changes:
        raise InputError(
            f"{folder}: holds another run: {'; '.join(changes)}; use another --output_dir to keep both, or "
            "--overwrite_output_dir to start anew"
        )
    return latest


def _change(key: str, before, now) -> str:
    if isinstance(before, dict) and isinstance(now, dict):
        parts = [
            _change(f"{key}.{k}", before.get(k), now.get(k)) for k in {**before, **now} if before.get(k) != now.get(k)
        ]
        return ", ".join(parts)
    return f"{key} was {_short(before)}, is now {_short(now)}"


def _short(value) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def begin(
    folder: str,
    manifest: dict,
    labels: tuple[str, ...] | None,
    config: BertConfig | ModuleConfig,
    vocab_file: str | None,
    flags: dict,
) -> None:
    """Start a new run: remove what an earlier run left, write what later runs need; other files are left alone.

    A task without labels has None; so has a run that knows no vocabulary.
    """
    vocabulary = files.read_bytes(vocab_file) if vocab_file else None
    files.make_directory(folder)
    ours = [name for name in files.list_directory(folder) if _OURS.fullmatch(name)]
    # Checkpoints first and the manifest last: what is left if this is stopped is still known as a folder of ours.
    for name in sorted(ours, key=lambda name: (name == MANIFEST, not name.startswith(("checkpoint", "model.ckpt")))):
        path = os.path.join(folder, name)
        if not files.is_directory(path):
            files.remove(path)
    remove_leftovers(folder)
    write_json(os.path.join(folder, MANIFEST), manifest)
    if labels is not None:
        write_lines(os.path.join(folder, "labels.txt"), labels)
    if vocabulary is not None:
        with atomic_write(os.path.join(folder, "vocab.txt"), "wb") as file:
            file.write(vocabulary)
    write_config(os.path.join(folder, "bert_config.json"), config)
    write_flags(os.path.join(folder, "flags.txt"), flags)


def remove_leftovers(folder: str) -> None:
    """Remove the half-written files of a run that was killed."""
    for name in files.list_directory(folder):
        path = os.path.join(folder, name)
        if name.startswith(".writing-") and files.is_directory(path):
            shutil.rmtree(path)
        elif name.startswith(".writing-"):
            files.remove(path)


def write_report(folder: str, report: dict) -> None:
    """Write run_report.json; what an earlier run of the same folder reported, such as its training, stays in it."""
    path = os.path.join(folder, "run_report.json")
    try:
        before = json.loads(read_text(path)) if files.exists(path) else {}
    except json.JSONDecodeError:  # nothing depends on the old report
        before = {}
    write_json(path, before | report)


def model_manifest(config: BertConfig | ModuleConfig, vocab_file: str | None, start: CheckpointPath | None) -> dict:
    """The model's part of a manifest; `start` is what a new run starts from."""
    vocabulary = hashlib.sha256(files.read_bytes(vocab_file)).hexdigest()[:16] if vocab_file else None
    return {
        "init_checkpoint": start.identity if start else None,
        "config": dataclasses.asdict(config),
        "vocabulary": vocabulary,
    }
