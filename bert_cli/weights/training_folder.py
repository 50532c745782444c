"""The checkpoints of a training run: model.ckpt-N, and the file `checkpoint` that names the newest;
no TensorFlow.
"""

import os
import re

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.log import warn_once
from bert_cli.base.names import CHECKPOINT, STATE
from bert_cli.base.writing import atomic_write
from bert_cli.weights.formats.checkpoint_index import check_data, read_index
from bert_cli.weights.names import has_moments, is_of_training

_NUMBERED = re.compile(r"^model\.ckpt-(\d+)\.index$")
_DATA = re.compile(r"^model\.ckpt-(\d+)\.data-\d+-of-\d+$")
_STATE_PATH = re.compile(r'^model_checkpoint_path:\s*"(.*)"\s*$', re.MULTILINE)


def latest_checkpoint(folder: str) -> str | None:
    """Prefix of the newest checkpoint of a training folder, or None.

    The `checkpoint` file names it; where that file is missing, is no text, or names one that is
    gone, the highest model.ckpt-N is it.
    """
    named = _named_by_state(folder)
    if named:
        return named
    numbers = numbered_checkpoints(folder)
    return os.path.join(folder, f"{CHECKPOINT}{numbers[-1]}") if numbers else None


def newest_to_train(folder: str, strict: bool = False) -> str | None:
    """The newest_undamaged to go on from, with a warning where it has no moments; strict:
    InputError.
    """
    found = newest_undamaged(folder, strict, to_train=True)
    if found and not has_moments(read_index(found)):
        lost = "the optimizer's moments are lost and start from 0"
        refuse_if(strict, f"{found}: holds weights alone; without --strict {lost}")
        warn_once(f"warning: {found} holds weights alone: {lost}, so the run will end in other weights")
    return found


def _lost_steps(first: int, last: int) -> str:
    return f"step {last} is lost" if first == last else f"steps {first} to {last} are lost"


def newest_undamaged(folder: str, strict: bool = False, to_train: bool = False) -> str | None:
    """As latest_checkpoint, but an older one where the checksums of that one are wrong, with a
    warning; strict: InputError.

    to_train: what training alone needs must be sound too; InputError where no checkpoint is whole,
    as nothing of the run's folder may be changed then. Else it is the newest: its reader will
    report the damage.
    """
    newest = latest_checkpoint(folder)
    lost = _without_index(folder)
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
    found = _NUMBERED.match(f"{os.path.basename(newest)}.index")
    # Only older ones: a checkpoint with a higher number is of a run that went on from elsewhere.
    for number in reversed(numbered_checkpoints(folder)):
        candidate = os.path.join(folder, f"{CHECKPOINT}{number}")
        if (found is None or number < int(found[1])) and not _damage(candidate, to_train):
            lost = f", and {_lost_steps(number + 1, int(found[1]))}" if found else ""
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
    """InputError where a folder has the data of a checkpoint, but the index of none."""
    if latest_checkpoint(folder) is None and (lost := _without_index(folder)):
        raise InputError(f"{lost}.index: does not exist, and no checkpoint before it is there; restore it, or {advice}")


def _without_index(folder: str) -> str | None:
    """Prefix of the newest checkpoint where its data is there and its index is not.

    The `checkpoint` file names the newest checkpoint. Data of a higher number is of a save
    that was killed before that file named it; without that file it counts as well.
    """
    numbers = {int(found[1]) for name in files.list_directory(folder) if (found := _DATA.match(name))}
    named = _state_path(folder)
    if named is not None:
        number = os.path.basename(named).removeprefix(CHECKPOINT)
        numbers &= {int(number)} if number.isdecimal() else set()
    newest = max(numbers, default=None)
    if newest is None or newest in numbered_checkpoints(folder):
        return None
    return os.path.join(folder, f"{CHECKPOINT}{newest}")


def _damage(prefix: str, to_train: bool) -> str | None:
    """The damage of a checkpoint, None for a whole one. Of a remote checkpoint only the index is
    read.
    """
    try:
        if files.is_remote(prefix):
            read_index(prefix)
        else:
            check_data(prefix, lambda name: to_train or not is_of_training(name))
    except (ValueError, OSError, InputError) as error:
        return str(error).removeprefix(f"{prefix}: ")
    return None


def _state_path(folder: str) -> str | None:
    """What the `checkpoint` file of a folder names, "" for nothing; None where there is no such file."""
    state = os.path.join(folder, STATE)
    if not files.exists(state) or files.is_directory(state):
        return None
    # After a power cut it can hold anything.
    found = _STATE_PATH.search(files.read_bytes(state).decode("utf-8", "replace"))
    return found[1] if found else ""


def _named_by_state(folder: str) -> str | None:
    """The prefix that the `checkpoint` file of a folder names, if it is there."""
    named = _state_path(folder)
    if not named:
        return None
    # Folders get moved: an absolute path of another place still names a file of this one.
    candidates = [os.path.join(folder, path) for path in (named, os.path.basename(named)) if "\0" not in path]
    return next((path for path in candidates if files.exists(path + ".index")), None)


def write_state(folder: str, step: int, kept: list[int]) -> None:
    """Write the `checkpoint` file: model.ckpt-`step` is the newest, `kept` has the steps of all
    checkpoints.
    """
    # Names without their folder, so that a folder may be moved; in the format of
    # tf.train.latest_checkpoint.
    lines = [f'model_checkpoint_path: "{CHECKPOINT}{step}"']
    lines += [f'all_model_checkpoint_paths: "{CHECKPOINT}{number}"' for number in kept]
    with atomic_write(os.path.join(folder, STATE)) as file:
        file.write("\n".join(lines) + "\n")


def repair_state(folder: str, prefix: str) -> None:
    """Rewrite the `checkpoint` file where it does not name this checkpoint of the folder, the
    newest whole one.
    """
    if _named_by_state(folder) != prefix:
        step = step_number(prefix)
        write_state(folder, step, [number for number in numbered_checkpoints(folder) if number <= step])


def numbered_checkpoints(folder: str) -> list[int]:
    """The N of all model.ckpt-N in a folder, ascending."""
    return sorted(int(found[1]) for name in files.list_directory(folder) if (found := _NUMBERED.match(name)))


def step_number(prefix: str) -> int:
    """The N of model.ckpt-N; InputError for another name."""
    number = prefix.rpartition("-")[2]
    if not number.isdecimal():
        raise InputError(f"{prefix}: the name does not end in -<step>, so the step of its training is unknown")
    return int(number)
