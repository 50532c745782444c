"""Choice between a model that flags name and the run in output_dir, for commands that can train."""

import os
from collections.abc import Collection
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.log import LOG
from bert_cli.base.names import CONFIG, RANDOM
from bert_cli.flags.option import flag_values, replace_values
from bert_cli.model.config_files import read_module_config
from bert_cli.opening.checkpoints import belongs_to_run, model_to_use, named_folder
from bert_cli.opening.run_start import RunStart
from bert_cli.weights.path import find_checkpoint, model_folder
from bert_cli.weights.training_folder import latest_checkpoint

_RESULT_FLAGS = ("do_eval", "do_predict")  # phases that write results into output_dir


def with_chosen_model(settings: Any, given_names: Collection[str]) -> Any:
    """Return a command's settings, with model flags that name only the model to use.

    The command does not train. A named model is used, and never a run in the default output_dir. If --output_dir is given, too,
    --init_checkpoint may name the model that its run started from. Google's scripts are called like
    this: with the same flags for training and for prediction. Then the run is used, and
    --init_checkpoint is removed. The same applies to --hub_module.

    Args:
        settings: flag values on the command line.
        given_names: flags on the command line.

    Raises:
        InputError: if flags name two models, or results would be mixed with another run's.
    """
    choice = _Choice(settings, given_names)
    if "init_checkpoint" in given_names:
        settings = choice.without_start()
    return _without_start_module(settings, given_names) if settings.hub.hub_module else settings


class _Choice:
    """A command's flags about models, and the run in its output_dir.

    Attributes:
        run_folder: directory with the run's checkpoints; "" without a checkpoint in output_dir.
    """

    def __init__(self, settings: Any, given_names: Collection[str]):
        self._settings = settings
        self._model, self._output_dir = settings.model, settings.phases.output_dir
        self._has_given_folder = "output_dir" in given_names
        folder = model_folder(self._output_dir) if self._output_dir else ""
        self.run_folder = folder if folder and latest_checkpoint(folder) else ""

    def without_start(self) -> Any:
        """Return the settings, without --init_checkpoint if the run started from it and is used."""
        path = self._model.init_checkpoint
        if not self.run_folder:
            return self._settings
        if path == RANDOM:
            start = RunStart(self.run_folder)
            refuse_if(
                not start.is_random(),
                f"--init_checkpoint={RANDOM} is a start for training, and the run in {self._output_dir} started from "
                f"{start.description}; leave --init_checkpoint out to use the run",
            )
            return replace_values(self._settings, {"init_checkpoint": ""})
        folder = named_folder(self._model)
        if folder and belongs_to_run(folder, self._output_dir):
            return self._settings
        if not self._has_given_folder:
            self._check_results(path)
            return self._settings
        checkpoint = find_checkpoint(path, strict=self._model.strict)
        start = RunStart(self.run_folder)
        if start.is_checkpoint(path, checkpoint):
            LOG.info("%s: the run in %s started from it, and is used", path, self._output_dir)
            return replace_values(self._settings, {"init_checkpoint": ""})
        alternative = "give another --output_dir" if self._writes_results() else "leave --output_dir out"
        raise InputError(
            f"--init_checkpoint={path} and --output_dir={self._output_dir} name two models: {self._output_dir} holds a "
            f"run that started from {start.description}; leave --init_checkpoint out to use this run, or {alternative} to "
            f"use {path}"
        )

    def _check_results(self, path: str) -> None:
        """Raise InputError if the named model's results would go to the default output_dir's run."""
        refuse_if(
            self._writes_results(),
            f"--init_checkpoint={path}: its results would be written into {self._output_dir}, the default of "
            "--output_dir, which holds another run; give another --output_dir, or leave --init_checkpoint out and "
            f"give --output_dir={self._output_dir} to use this run",
        )

    def _writes_results(self) -> bool:
        values = flag_values(self._settings)
        return any(values.get(name) for name in _RESULT_FLAGS)


def _without_start_module(settings: Any, given_names: Collection[str]) -> Any:
    """Return the settings, without --hub_module if the model to use only started from it.

    A model that was trained on an encoder other than BERT keeps the flag, because it needs the module.

    Raises:
        InputError: if --hub_module and the model do not belong together.
    """
    handle, model, output_dir = settings.hub.hub_module, settings.model, settings.phases.output_dir
    if not (output_dir or model.init_checkpoint):
        return settings
    folder = model_to_use(model, settings.hub, output_dir).folder
    config_file = model.bert_config_file or os.path.join(folder, CONFIG)
    config = read_module_config(config_file) if files.exists(config_file) else None
    start = RunStart(folder)
    if "output_dir" in given_names or named_folder(model):
        refuse_if(
            not (config or start.is_module(handle)),
            f"--hub_module={handle}: the model in {folder} started from {start.description} and needs no module; leave "
            "--hub_module out",
        )
        return settings if config else replace_values(settings, {"hub_module": None})
    is_needed = config is not None and (
        start.is_module(handle) or files.resolve(config.hub_module) == files.resolve(handle)
    )
    refuse_if(
        not is_needed,
        f"--hub_module={handle}: is no trained model; {output_dir}, the default of --output_dir, holds a run that "
        f"started from {start.description}; to use this run, give --output_dir={output_dir}"
        f"{'' if config else ' and leave --hub_module out'}",
    )
    return settings
