"""Resuming a run or overwriting it: the checkpoint to resume, inputs at risk, and advice."""

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from typing import Any, NamedTuple

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.json_files import read_json_object
from bert_cli.base.log import LOG
from bert_cli.base.names import MANIFEST, RANDOM, SEVERAL, STANDARD
from bert_cli.base.remote import is_remote
from bert_cli.flags.option import Flag, every_flag, flag_values
from bert_cli.run_directory.directory import KEEP_ADVICE, OVERWRITE_ADVICE, RunDirectory
from bert_cli.run_directory.manifest import COMMAND, describe_changes
from bert_cli.run_directory.owned_files import run_file_names
from bert_cli.runtime.signals import Stopped, stop_exception
from bert_cli.settings.training import TrainingSettings
from bert_cli.weights.path import CheckpointPath
from bert_cli.weights.training_folder import check_no_index_lost, newest_to_train, step_number

_OUTPUTS = ("output_dir", "output_file")
_DATA = "data_dir"  # files in it have names that runs do not write
_SAME = "the same command"


def checkpoint_to_resume(
    settings: TrainingSettings, manifest: dict[str, Any], start: CheckpointPath | None, names: tuple[str, ...]
) -> str | None:
    """Return the checkpoint prefix that a training resumes from; None for a new run.

    Args:
        manifest: contents of run.json.
        start: checkpoint that a new run starts from.
        names: names of files that are specific to the task and the flags.

    Raises:
        InputError: see `find_checkpoint_to_resume`; a dry run only logs it.
    """
    phases = settings.phases
    directory, overwrite = RunDirectory(phases.output_dir), phases.overwrite_output_dir
    try:
        return find_checkpoint_to_resume(directory, manifest, overwrite, start, names, settings.model.strict)
    except InputError as error:
        # A dry run always plans a new training, and does not depend on output_dir.
        if not phases.dry_run:
            raise
        LOG.warning("warning: without --dry_run this would be refused: %s", error)
        return None


def find_checkpoint_to_resume(
    directory: RunDirectory,
    manifest: dict,
    overwrite: bool,
    start: CheckpointPath | None,
    names: tuple[str, ...] = (),
    strict: bool = False,
) -> str | None:
    """Return the checkpoint that this run resumes, without changing anything.

    Args:
        directory: the run's output directory.
        manifest: everything that decides the run's result.
        overwrite: value of --overwrite_output_dir.
        start: model that a new run starts from; None for random weights.
        names: files that are specific to the task.
        strict: see newest_to_train.

    Returns:
        The checkpoint's prefix; None for a new run.

    Raises:
        InputError: if the directory holds another run and `overwrite` is False, or if this run
            would replace a file that our runs did not write.
    """
    if start and files.resolve(start.folder) in map(files.resolve, (directory.path, directory.best.path)):
        raise InputError(
            f"--init_checkpoint={start.location} lies in --output_dir, which training writes to; use another"
        )
    latest = directory.newest_checkpoint
    resumes_overwriting = overwrite and directory.is_interrupted_overwriting
    if not overwrite and (directory.owned.read_manifest(OVERWRITE_ADVICE) or {}).get(SEVERAL):
        raise InputError(f"{directory}: holds several runs; {KEEP_ADVICE}")
    directory.check_known()
    if latest is None and not overwrite:
        check_no_index_lost(directory.path, OVERWRITE_ADVICE)
    if latest is None or (overwrite and not resumes_overwriting):
        directory.owned.check(run_file_names(manifest, names))
        return None
    # Convert the values to JSON and back as for run.json: tuples become lists, and keys text.
    before = read_json_object(directory.file(MANIFEST), OVERWRITE_ADVICE)
    now = json.loads(json.dumps(manifest))
    is_other_command = before.get(COMMAND) != now.get(COMMAND)
    if is_other_command and not resumes_overwriting:
        raise InputError(f"{directory}: holds a run of {before.get(COMMAND)}; {KEEP_ADVICE}")
    changes = describe_changes(before, now, step_number(latest))
    if resumes_overwriting and (changes or is_other_command):
        directory.owned.check(run_file_names(manifest, names))
        return None
    if changes:
        raise InputError(f"{directory}: holds another run: {'; '.join(changes)}; {KEEP_ADVICE}")
    directory.owned.check(names)
    if resumes_overwriting:
        LOG.info(
            "%s: resuming the run that --overwrite_output_dir began and that was interrupted; remove the folder to "
            "start over", directory.path,
        )  # fmt: skip
    return newest_to_train(directory.path, strict)


def check_inputs(settings: Any) -> None:
    """Raise InputError if the run would remove a file or directory that it uses as input.

    Args:
        settings: flag values, with --overwrite_output_dir.
    """
    removed = list(_removed_paths(RunDirectory(settings.phases.output_dir)))
    if not removed:
        return
    for flag, path in _inputs(settings):
        real = files.resolve(path)
        # Flags name a checkpoint by its prefix, and a model by its directory.
        prefixes = (real + os.sep, real + ".") if flag.name != _DATA else ()
        if any(f"{real}{os.sep}".startswith(f"{name}{os.sep}") or name.startswith(prefixes) for name in removed):
            raise InputError(f"--{flag.name}={path} lies in --output_dir, which training writes to; use another")


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


def _removed_paths(directory: RunDirectory) -> Iterator[str]:
    """Yield the paths that are removed from a run's directory and from runs in subdirectories."""
    subdirectories = [RunDirectory(directory.file(name)) for name in files.list_directory(directory.path)]
    for run in [directory, *(run for run in subdirectories if files.exists(run.file(MANIFEST)))]:
        real = files.resolve(run.path)
        yield from (os.path.join(real, name) for name in run.owned.removable_names())


class ResumingCall(NamedTuple):
    """The call that resumes a run from Python.

    Attributes:
        call: text about it for messages.
        is_temporary: whether output_dir is deleted after an error.
    """

    call: str
    is_temporary: bool = False


def describe_resuming_command(overwrites: bool) -> str:
    """Describe the command that resumes an interrupted run.

    Args:
        overwrites: whether the command has --overwrite_output_dir.
    """
    # With this flag, the command would start over once more.
    return f"{_SAME} without --overwrite_output_dir" if overwrites else _SAME


@contextlib.contextmanager
def advising_to_resume(directory: RunDirectory, rerun: str) -> Iterator[None]:
    """Name the newest checkpoint if the block is interrupted.

    All checkpoints in the directory must belong to this run.

    Args:
        rerun: the command or call that resumes the run.
    """
    try:
        yield
    except (KeyboardInterrupt, Stopped) as error:
        newest = directory.newest_checkpoint
        has_message = isinstance(error, Stopped) and error.message
        if has_message or newest is None:
            raise
        end = f"stopped by {error.name}" if isinstance(error, Stopped) else "interrupted"
        number = error.number if isinstance(error, Stopped) else signal.SIGINT
        raise stop_exception(number, f"{end}; {rerun} goes on from {os.path.basename(newest)}") from None
