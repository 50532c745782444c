"""Checkpoints of a training run: model.ckpt-N, and the file `checkpoint` that names the newest."""

import os
import re

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.log import warn_once
from bert_cli.base.names import CHECKPOINT, STATE
from bert_cli.base.writing import atomic_write
from bert_cli.weights.formats.checkpoint_index import check_data, read_index
from bert_cli.weights.variables import has_moments, is_training_state

_NUMBERED = re.compile(r"^model\.ckpt-(\d+)\.index$")
_DATA = re.compile(r"^model\.ckpt-(\d+)\.data-\d+-of-\d+$")
_STATE_PATH = re.compile(r'^model_checkpoint_path:\s*"(.*)"\s*$', re.MULTILINE)


def latest_checkpoint(folder: str) -> str | None:
    """Return the newest checkpoint's prefix in a training directory, or None.

    This is the prefix in the `checkpoint` file. If that file is missing or damaged, or its
    checkpoint does not exist, the result is the model.ckpt-N with the highest number.
    """
    named = _existing_state_prefix(folder)
    if named:
        return named
    numbers = numbered_checkpoints(folder)
    if not numbers:
        return None
    if path := _state_path(folder):
        state = os.path.join(folder, STATE)
        warn_once(f"warning: {state}: names {path!r:.200}, which does not exist; {CHECKPOINT}{numbers[-1]} is used")
    return os.path.join(folder, f"{CHECKPOINT}{numbers[-1]}")


def newest_to_train(folder: str, strict: bool = False) -> str | None:
    """Return the newest undamaged checkpoint for resuming training, or None.

    Args:
        folder: training directory.
        strict: raise InputError, instead of a warning, if the checkpoint is damaged or has no
            optimizer moments.
    """
    prefix = newest_undamaged(folder, strict, to_train=True)
    if prefix and not has_moments(read_index(prefix)):
        consequence = "the optimizer's moments are lost and start from 0"
        refuse_if(strict, f"{prefix}: holds weights alone; without --strict {consequence}")
        warn_once(f"warning: {prefix} holds weights alone: {consequence}, so the run will end in other weights")
    return prefix


def _lost_steps(first: int, last: int) -> str:
    return f"step {last} is lost" if first == last else f"steps {first} to {last} are lost"


def newest_undamaged(folder: str, strict: bool = False, to_train: bool = False) -> str | None:
    """Return the newest checkpoint with correct checksums, or None if there is no checkpoint.

    A warning reports a damaged newer checkpoint.

    Args:
        folder: training directory.
        strict: raise InputError instead of using an older checkpoint.
        to_train: check the training state, too. If all checkpoints are damaged, raise InputError,
            because the directory must not change then. Otherwise return the newest one, so that its
            reader reports the damage.
    """
    newest = latest_checkpoint(folder)
    lost = _find_data_without_index(folder)
    if lost and newest:
        refuse_if(strict, f"{lost}.index: does not exist; without --strict {os.path.basename(newest)} is used")
        steps = _lost_steps(step_number(newest) + 1, step_number(lost))
        warn_once(f"warning: {lost}.index does not exist: {os.path.basename(newest)} is used, and {steps}")
    if newest is None or not (reason := _damage(newest, to_train)):
        return newest
    if strict:
        raise InputError(
            f"{newest}: is damaged or cut short ({reason}); without --strict the checkpoint before it is used"
        )
    newest_match = _NUMBERED.match(f"{os.path.basename(newest)}.index")
    # Use only older ones: a higher number belongs to a run that continued from another checkpoint.
    for number in reversed(numbered_checkpoints(folder)):
        candidate = os.path.join(folder, f"{CHECKPOINT}{number}")
        if (newest_match is None or number < int(newest_match[1])) and not _damage(candidate, to_train):
            lost = f", and {_lost_steps(number + 1, int(newest_match[1]))}" if newest_match else ""
            warn_once(
                f"warning: {newest} is damaged or cut short ({reason}): {os.path.basename(candidate)} is used{lost}"
            )
            return candidate
    if to_train:
        raise InputError(
            f"{newest}: is damaged or cut short ({reason}), and no checkpoint before it is whole; "
            "restore it, or --overwrite_output_dir starts over"
        )
    return newest


def check_no_index_lost(folder: str, advice: str) -> None:
    """Raise InputError, with `advice`, if a directory has checkpoint data but no index file."""
    if latest_checkpoint(folder) is None and (lost := _find_data_without_index(folder)):
        raise InputError(f"{lost}.index: does not exist, and no checkpoint before it is there; restore it, or {advice}")


def _find_data_without_index(folder: str) -> str | None:
    """Return the newest checkpoint's prefix if its data exists but not its index.

    The `checkpoint` file names the newest checkpoint. Data with a higher number belongs to a save
    that was killed, and is ignored. Without that file, the highest number is the newest.
    """
    numbers = {int(match[1]) for name in files.list_directory(folder) if (match := _DATA.match(name))}
    path = _state_path(folder)
    if path is not None:
        number = os.path.basename(path).removeprefix(CHECKPOINT)
        numbers &= {int(number)} if number.isdecimal() else set()
    newest = max(numbers, default=None)
    if newest is None or newest in numbered_checkpoints(folder):
        return None
    return os.path.join(folder, f"{CHECKPOINT}{newest}")


def _damage(prefix: str, to_train: bool) -> str | None:
    """Return why a checkpoint is damaged, or None for an undamaged one.

    Only the index is checked if the checkpoint is remote.
    """
    try:
        if files.is_remote(prefix):
            read_index(prefix)
        else:
            check_data(prefix, lambda name: to_train or not is_training_state(name))
    except (ValueError, OSError, InputError) as error:
        return str(error).removeprefix(f"{prefix}: ")
    return None


def _state_path(folder: str) -> str | None:
    """Return the path in the `checkpoint` file, "" if it has no path, or None without the file."""
    state = os.path.join(folder, STATE)
    if not files.exists(state) or files.is_directory(state):
        return None
    # Accept any bytes: the file may be damaged after a power failure.
    match = _STATE_PATH.search(files.read_bytes(state).decode("utf-8", "replace"))
    return match[1] if match else ""


def _existing_state_prefix(folder: str) -> str | None:
    """Return the prefix in the `checkpoint` file, or None if that checkpoint does not exist."""
    path = _state_path(folder)
    if not path or "\0" in path:
        return None
    named, inside = os.path.join(folder, path), os.path.join(folder, os.path.basename(path))
    root = os.path.join(files.resolve(folder), "")
    if f"{files.resolve(os.path.dirname(named))}/".startswith(root) and files.exists(f"{named}.index"):
        return named
    # Try the base name, too: an absolute path is wrong after the directory was moved.
    if files.exists(f"{inside}.index"):
        return inside
    refuse_if(
        files.exists(f"{named}.index"),
        f"{os.path.join(folder, STATE)}: names {path}, which is in another directory; give that path instead of {folder}",
    )
    return None


def write_checkpoint_state(folder: str, step: int, kept_steps: list[int]) -> None:
    """Write the `checkpoint` file in the format of tf.train.latest_checkpoint.

    Args:
        folder: training directory.
        step: the newest checkpoint's step.
        kept_steps: the steps with a checkpoint.
    """
    # Write names without a directory, so that users can move the directory.
    lines = [f'model_checkpoint_path: "{CHECKPOINT}{step}"']
    lines += [f'all_model_checkpoint_paths: "{CHECKPOINT}{number}"' for number in kept_steps]
    with atomic_write(os.path.join(folder, STATE)) as file:
        file.write("\n".join(lines) + "\n")


def repair_checkpoint_state(folder: str, prefix: str) -> None:
    """Rewrite the `checkpoint` file unless it names the newest undamaged checkpoint, `prefix`."""
    if _existing_state_prefix(folder) != prefix:
        step = step_number(prefix)
        write_checkpoint_state(folder, step, [number for number in numbered_checkpoints(folder) if number <= step])


def numbered_checkpoints(folder: str) -> list[int]:
    """Return the step numbers in a directory's checkpoint names (model.ckpt-N), ascending."""
    return sorted(int(match[1]) for name in files.list_directory(folder) if (match := _NUMBERED.match(name)))


def step_number(prefix: str) -> int:
    """Return the number N in a prefix model.ckpt-N; raise InputError for another name."""
    number = prefix.rpartition("-")[2]
    if not number.isdecimal():
        raise InputError(f"{prefix}: the name does not end in -<step>, so the step of its training is unknown")
    return int(number)
