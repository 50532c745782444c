"""A training run's directory: starting a run in it, resuming one, its report and its best model."""

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.names import (
    BEST,
    BEST_FILE,
    CHECKPOINT,
    CONFIG,
    FLAGS,
    LABELS,
    MANIFEST,
    MODEL_FILES,
    MODULES,
    REPORT,
    SENTENCE_BERT,
    SENTENCE_CONFIG,
    SEVERAL,
    STATE,
    TOKENIZER_CONFIG,
    VOCABULARY,
)
from bert_cli.base.writing import atomic_write, copy_file, write_json, write_lines
from bert_cli.flags.saved import write_flags
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.model.config_files import write_config
from bert_cli.run_directory.lock import DirectoryLock
from bert_cli.run_directory.manifest import COMMAND, FILES, OVERWRITING
from bert_cli.run_directory.owned_files import (
    CHECKPOINT_FILE,
    OwnedFiles,
    listed_file_names,
    run_file_names,
)
from bert_cli.weights.training_folder import (
    latest_checkpoint,
    numbered_checkpoints,
)

# Advice at the end of messages.
OVERWRITE_ADVICE = "--overwrite_output_dir starts over"
KEEP_ADVICE = "use another --output_dir to keep both, or --overwrite_output_dir to start over"
# A directory with one of these files, but without run.json, holds models or data.
_FOREIGN = (*MODEL_FILES, "bert_model.ckpt.index", "train.tsv")


# Files of sentence-transformers, and those in a module's subdirectory such as 1_Pooling.
_MODULES = re.compile(rf"{re.escape(MODULES)}|{re.escape(SENTENCE_BERT)}|{re.escape(SENTENCE_CONFIG)}|\d+_[A-Z]\w+/.+")


def _remove_empty_folders(path: str, names: Iterable[str]) -> None:
    """Remove the subdirectories of these files, as `subdirectory/name`, that are empty."""
    for subfolder in sorted({os.path.dirname(name) for name in names} - {""}):
        subpath = os.path.join(path, subfolder)
        if files.is_directory(subpath) and not files.is_remote(subpath) and not os.listdir(subpath):
            os.rmdir(subpath)


class BestModel:
    """Subdirectory best/ with a run's best checkpoint, and best.json.

    best/ is a complete model directory, with copies of run.json, flags.txt, config, vocabulary, labels
    and modules of sentence-transformers, so every command accepts it as --init_checkpoint. best.json
    names the subdirectory that commands use as the model, if the file exists
    (weights.path.model_folder).

    Attributes:
        path: path of best/.
    """

    _COMPANIONS = (FLAGS, CONFIG, LABELS, VOCABULARY, TOKENIZER_CONFIG)

    def __init__(self, run_path: str):
        self.path = os.path.join(run_path, BEST)
        self._run_path = run_path

    @property
    def steps(self) -> list[int]:
        """Return the steps of the checkpoints in best/, ascending."""
        return numbered_checkpoints(self.path)

    def prefix(self, step: int) -> str:
        """Return the path of the checkpoint for a step, without its ending."""
        return os.path.join(self.path, f"{CHECKPOINT}{step}")

    def prepare(self) -> None:
        """Make best/, and copy the files of the run's model into it."""
        files.make_directory(self.path)
        manifest = OwnedFiles(self._run_path).read_manifest() or {}
        modules = [name for name in sorted(listed_file_names(manifest)) if _MODULES.fullmatch(name)]
        names = [*self._COMPANIONS, *modules]
        present = [name for name in names if files.exists(os.path.join(self._run_path, name))]
        write_json(os.path.join(self.path, MANIFEST), manifest | {FILES: [MANIFEST, STATE, *present]})
        for name in present:
            files.make_directory(os.path.dirname(os.path.join(self.path, name)))
            copy_file(os.path.join(self._run_path, name), os.path.join(self.path, name))

    def write_choice(self, facts: Mapping[str, Any], subdirectory: str = BEST) -> None:
        """Write best.json.

        Args:
            facts: reason for the choice, for example the metric, its value and the step.
            subdirectory: name of the chosen model's directory.
        """
        write_json(os.path.join(self._run_path, BEST_FILE), {"folder": subdirectory, **facts})

    def keep_steps(self, steps: Collection[int]) -> None:
        """Remove all checkpoints from best/ except at `steps`."""
        # Remove the index first: without it, the data files are not taken for a checkpoint.
        for name in sorted(files.list_directory(self.path), reverse=True):
            match = CHECKPOINT_FILE.fullmatch(name)
            if match and int(match[1]) not in steps:
                files.remove(os.path.join(self.path, name))

    def name_step(self, step: int) -> None:
        """Write the file `checkpoint` of best/, so that it names the checkpoint of `step`.

        In a training directory, the same file names the newest checkpoint.
        """
        lines = [f'{key}: "{CHECKPOINT}{step}"\n' for key in ("model_checkpoint_path", "all_model_checkpoint_paths")]
        with atomic_write(os.path.join(self.path, STATE)) as file:
            file.writelines(lines)

    def remove(self) -> None:
        """Remove best.json and the files that our runs wrote into best/, and keep other files."""
        files.remove(os.path.join(self._run_path, BEST_FILE))
        owned = OwnedFiles(self.path).names() if files.is_directory(self.path) else set()
        if MANIFEST not in owned:
            return
        self.keep_steps(())
        for name in sorted(owned, key=lambda name: name == MANIFEST):
            files.remove(os.path.join(self.path, name))
        _remove_empty_folders(self.path, owned)
        if not files.is_remote(self.path) and not os.listdir(self.path):
            os.rmdir(self.path)


class RunDirectory:
    """The output directory of a run, or the directory of a model that a run may have made.

    Attributes:
        path: the directory, which may not exist yet.
        owned: its files that our runs wrote.
        best: its best checkpoint.
    """

    def __init__(self, path: str):
        self.path = path
        self.owned = OwnedFiles(path)
        self.best = BestModel(path)

    def __str__(self) -> str:
        return self.path

    def file(self, name: str) -> str:
        """Return the path of a file in this directory."""
        return os.path.join(self.path, name)

    @property
    def manifest(self) -> dict | None:
        """Return run.json, see OwnedFiles.read_manifest."""
        return self.owned.read_manifest()

    @property
    def report(self) -> dict | None:
        """Return run_report.json, see OwnedFiles.read_report."""
        return self.owned.read_report()

    @property
    def newest_checkpoint(self) -> str | None:
        """Return the newest checkpoint's prefix, which may be damaged; None without checkpoints."""
        return latest_checkpoint(self.path)

    @property
    def is_interrupted_overwriting(self) -> bool:
        """Return whether --overwrite_output_dir started the run here, and it was interrupted.

        The same command must then resume the run, because its files are already overwritten.
        """
        manifest = self.owned.read_undamaged_manifest()
        return bool(manifest and manifest.get(OVERWRITING)) and self.report is None

    def lock(self, distribution_strategy: str) -> DirectoryLock:
        """Return the lock, which keeps other runs out while it is held.

        Raises:
            BusyError: if another run holds the lock.
        """
        return DirectoryLock(self.path, distribution_strategy)

    def check_known(self) -> None:
        """Raise InputError if the directory has no run.json, but a model, data or checkpoints."""
        if files.exists(self.file(MANIFEST)):
            return
        for name in _FOREIGN:
            refuse_if(
                files.exists(self.file(name)),
                f"{self}: holds {name}, which no run of ours put there: it looks like a folder of "
                "models or data; use another --output_dir",
            )
        numbered = (name for name in files.list_directory(self.path) if CHECKPOINT_FILE.fullmatch(name))
        latest = self.newest_checkpoint
        checkpoint = os.path.basename(latest) if latest else next(numbered, None)
        refuse_if(
            checkpoint,
            f"{self}: holds {checkpoint} but no {MANIFEST}, so it is not known which run wrote it; move "
            "it away, or use another --output_dir",
        )

    def begin(
        self,
        manifest: dict,
        labels: tuple[str, ...] | None,
        config: BertConfig | ModuleConfig,
        model_files: Mapping[str, bytes],
        flags: dict,
        names: tuple[str, ...] = (),
        guesses: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Start a new run: remove files of earlier runs, and write the manifest and model files.

        Other files stay. resuming.find_checkpoint_to_resume must have accepted the directory.

        Args:
            labels: label names; None for a task without labels.
            model_files: contents of vocab.txt, and of further files of the model, by their path.
            flags, guesses: see flags.saved.write_flags.
            names: files that are specific to the task.
        """
        self._clear()
        write_json(self.file(MANIFEST), manifest | {FILES: run_file_names(manifest, names)})
        if labels is not None:
            write_lines(self.file(LABELS), labels)
        for name, contents in model_files.items():
            files.make_directory(os.path.dirname(self.file(name)))
            with atomic_write(self.file(name), "wb") as file:
                file.write(contents)
        write_config(self.file(CONFIG), config)
        write_flags(self.file(FLAGS), flags, guesses)

    def _clear(self) -> None:
        """Make the directory, or remove the files of our earlier runs from it. Other files stay."""
        files.make_directory(self.path)
        self.owned.remove_leftovers()
        ours = self.owned.removable_names()
        is_checkpoint = CHECKPOINT_FILE.fullmatch
        # Remove checkpoints first and the manifest last: if this is interrupted, the directory is
        # still recognized as ours.
        for name in sorted(ours, key=lambda name: (name == MANIFEST, name != STATE and not is_checkpoint(name))):
            if not files.is_directory(self.file(name)):
                files.remove(self.file(name))
            elif name == BEST:
                self.best.remove()
        _remove_empty_folders(self.path, ours)

    def update_manifest(self, manifest: dict, names: tuple[str, ...]) -> None:
        """Update run.json when a run is resumed: new `manifest`, and new task files `names`."""
        before = self.manifest or {}
        listed = [*before.get(FILES, []), *run_file_names(manifest, names)]
        after = manifest | {FILES: list(dict.fromkeys(listed))}
        if json.loads(json.dumps(after)) != before:
            write_json(self.file(MANIFEST), after)

    def write_report(self, report: dict, names: Iterable[str] = ()) -> None:
        """Update run_report.json. Entries of earlier runs, such as the training time, stay in it.

        Args:
            report: entries of this run.
            names: files that this run may have written. The report lists those that run.json does
                not, which makes them known as ours.
        """
        before = self.report or {}
        written = {name for name in names if files.exists(self.file(name))}
        unlisted = (listed_file_names(before) | written) - listed_file_names(self.manifest or {})
        after = before | report | ({FILES: sorted(unlisted)} if unlisted else {})
        write_json(self.file(REPORT), after)

    def check_sweep(self, command: str, sweep_type: str, names: tuple[str, ...], overwrite: bool) -> None:
        """Check that the directory can hold the subdirectories of several runs; change nothing.

        Args:
            sweep_type: for example "runs", "grid" or "folds".
            names: files that are written into this directory.
            overwrite: value of --overwrite_output_dir.

        Raises:
            InputError: if the directory holds another type of run and `overwrite` is False, or a
                file that would be replaced and was not written by our runs.
        """
        before = None if overwrite else self.owned.read_manifest(OVERWRITE_ADVICE)
        if before is not None and (before.get(COMMAND), before.get(SEVERAL)) != (command, sweep_type):
            raise InputError(f"{self}: holds another run; {KEEP_ADVICE}")
        self.check_known()
        self.owned.check((MANIFEST, *names))

    def begin_sweep(self, command: str, sweep_type: str, names: tuple[str, ...], overwrite: bool) -> None:
        """Write run.json for a sweep, and remove other runs; for the arguments, see `check_sweep`."""
        if overwrite or self.owned.read_manifest(OVERWRITE_ADVICE) is None:
            self._clear()
        manifest: dict = {COMMAND: command, SEVERAL: sweep_type, "config": {}}
        manifest |= {OVERWRITING: True} if overwrite else {}
        listed = list(dict.fromkeys([MANIFEST, REPORT, *names]))
        write_json(self.file(MANIFEST), manifest | {FILES: listed})
