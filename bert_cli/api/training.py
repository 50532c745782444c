"""Base class for models that can be trained from Python, as a command trains them."""

import contextlib
import dataclasses
import gc
import os
import shutil
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from bert_cli.api.arguments import option_values
from bert_cli.api.inputs.model_path import find_model
from bert_cli.api.results.cross_validation import CrossValidation, read_cross_validation
from bert_cli.api.results.page import Page
from bert_cli.api.saving import SavableModel, delete_with, temporary_folder
from bert_cli.api.watching import Watching
from bert_cli.base.errors import name_arguments_in_errors, refuse_if
from bert_cli.base.formats import list_names
from bert_cli.base.head_types import parameters_line
from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import show_log
from bert_cli.base.names import CONFIG, DATA_FACTS
from bert_cli.flags.option import build
from bert_cli.flags.paths import path_text
from bert_cli.flags.refusals import check_rules
from bert_cli.inference.engine import Engine
from bert_cli.model.config_files import read_module_config
from bert_cli.opening.paths import run_folders
from bert_cli.outputs.history import read_history
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runtime.process import ForkedLock
from bert_cli.runtime.signals import Stopped
from bert_cli.settings.training import with_frozen_encoder

if TYPE_CHECKING:
    import pandas as pd

_TRAINING = ForkedLock()


Model = TypeVar("Model", bound="TrainableModel")


@dataclasses.dataclass(frozen=True)
class PythonTraining:
    """A training from Python, with the flags and the code of a command.

    Attributes:
        settings_class: dataclass of the command's flag groups.
        make_task: function from the settings to the command's task.
        phases: flag values that the method sets, None for those not given.
        output_dir: the run's directory, None for a temporary one.
        options: flag values from the caller, which may not include those in `phases`.
        watching: the caller's callbacks, and how much to show.
        complete: function that returns the settings with derived values, and may refuse them.
        in_memory: flags for files whose data is in memory. Their values in `phases`, names for
            messages, satisfy the rules, but no flags.txt gets them.
    """

    settings_class: type
    make_task: Callable[[Any], Any]
    phases: Mapping[str, Any]
    output_dir: str | os.PathLike | None
    options: Mapping[str, Any]
    watching: Watching
    complete: Callable[[Any], Any] = lambda settings: settings
    in_memory: Collection[str] = ()

    @contextlib.contextmanager
    def run(self) -> Iterator[tuple[JsonObject, str]]:
        """Train, and yield the report and the run's directory.

        A temporary directory is deleted if the block fails, or when the process ends after a stop
        signal. Otherwise the caller deletes it.
        """
        output_dir = self.output_dir
        values = option_values(self.settings_class, self.options, self.phases)
        given_phases = {name: value for name, value in self.phases.items() if value is not None}
        paths = {
            name: path_text(value, name) for name, value in given_phases.items() if isinstance(value, str | os.PathLike)
        }
        values |= given_phases | paths
        # Set this here, because no method has it as an argument.
        values["do_train"] = True
        # The name of a temporary directory breaks no rule.
        settings = build(self.settings_class, values | {"output_dir": output_dir or "temporary"})
        check_rules(settings)
        # Import late: this includes the report pages, which `load` does not need.
        from bert_cli.runs import driver
        from bert_cli.runs.resuming import ResumingCall

        given_folder = None if output_dir is None else contextlib.nullcontext(path_text(output_dir, "output_dir"))
        with given_folder or temporary_folder() as folder:
            call = "the same call" + (" without overwrite_output_dir" if values["overwrite_output_dir"] else "")
            if output_dir is None:
                call = f'until this process ends, the same call with output_dir="{folder}"'
            # Train in one thread at a time: trainings would compete for processors, and
            # TensorFlow's options are global.
            with _TRAINING, show_log(self.watching.log_level):
                settings = build(self.settings_class, values | dict.fromkeys(self.in_memory) | {"output_dir": folder})
                settings = self.complete(with_frozen_encoder(settings))
                try:
                    rerun = ResumingCall(call, output_dir is None)
                    report = driver.run_phases(self.make_task, settings, rerun, self.watching.observers())
                except Stopped as stop:
                    if output_dir is None and (checkpoint := RunDirectory(folder).newest_checkpoint):
                        stop.output_dir = folder
                        weakref.finalize(Stopped, _delete_stopped, folder, checkpoint)
                    # The last line says all: a notebook would show each of the driver's frames.
                    raise stop.with_traceback(None) from None
            # A network and its traced step refer to each other, so only the collector frees them.
            gc.collect()
            yield report, folder

    def cross_validate(self) -> CrossValidation:
        """Run the command's cross-validation, and return its result."""
        with self.run() as (report, folder):
            output_dir = None if self.output_dir is None else folder
            result = read_cross_validation(folder, report, output_dir)
        if output_dir is None:
            shutil.rmtree(folder, ignore_errors=True)
        return result


def _delete_stopped(folder: str, checkpoint: str) -> None:
    """Delete a stopped training's temporary directory, unless a later training used it."""
    if RunDirectory(folder).newest_checkpoint == checkpoint:
        shutil.rmtree(folder, ignore_errors=True)


# Options that `load` takes, too, and that no file in the run's directory holds.
_FOR_PREDICTIONS = ("precision", "engine", "hub_module", "decoding", "n_best_size", "max_answer_length")


def options_for_predictions(options: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return arguments with which `load` opens a trained model.

    Args:
        options: flag values from the caller of the training.
        folder: the run's directory.
    """
    names = [name for name in _FOR_PREDICTIONS if options.get(name) is not None]
    config_file = find_model(folder).companion(CONFIG)
    # Checkpoints contain the weights from a BERT module.
    if not (config_file and read_module_config(config_file)):
        names = [name for name in names if name != "hub_module"]
    return {name: options[name] for name in names}


class TrainableModel(SavableModel):
    """Base class for models that can be trained.

    Attributes:
        report: content of run_report.json after training, with metrics in report["eval"]; {} after
            `load`.
        data_facts: for each split, the account of its input file: columns by role, columns that are
            not used, rows, and rows that are left out; {} after `load`.
        output_dir: the training run's directory, None after `load`.
    """

    report: Mapping[str, Any] = MappingProxyType({})
    data_facts: Mapping[str, Any] = MappingProxyType({})
    output_dir: str | None = None
    _engine: Engine

    def _facts(self) -> dict[str, str]:
        """Return what a notebook shows of the model: name -> text."""
        engine_facts = self._engine.facts()
        labels = [str(label) for label in getattr(self, "labels", ())]
        facts = super()._facts() | ({"labels": list_names(labels)} if labels else {})
        parameters = f"{engine_facts['parameters']['total']:,}"
        versions = ", ".join(f"{name} {version}" for name, version in engine_facts["versions"].items())
        return facts | {"parameters": parameters, "device": str(engine_facts["devices"]), "computed by": versions}

    def summary(self) -> dict[str, int]:
        """Print the model and the number of parameters, and return it as {"total": …, part: …}.

        See count_parameters for the parts.
        """
        counts = self._engine.facts()["parameters"]
        print(self)
        print(parameters_line(counts))
        return counts

    @property
    def history(self) -> "pd.DataFrame":
        """Return the training's progress: the lines of history.jsonl, with the step as index.

        The columns are loss, learning_rate, examples_per_second, seconds, and metrics. A line of
        training has no metrics, and an evaluation's line has no rate. `history["loss"].dropna().plot()` draws the curve.

        Raises:
            InputError: if no training of bert_cli made the model, or this is a copy.
        """
        # Import late: a program that only predicts needs no tables.
        import pandas as pd

        folder = run_folder(self)
        # The loss of an evaluation is in eval_loss; `loss`
        # there is Google's mean of the batches' means.
        entries = [
            {name: value for name, value in entry.items() if name != "metrics"}
            | {name: value for name, value in entry.get("metrics", {}).items() if name != "loss"}
            for entry in read_history(folder)
        ]
        refuse_if(not entries, f"{folder}: has no history.jsonl; only a training's own directory has it")
        return pd.DataFrame(entries).set_index("step")

    @name_arguments_in_errors()
    def report_page(self) -> Page:
        """Return the training's report.html, which a notebook shows.

        Raises:
            InputError: if no training of bert_cli made the model, or this is a copy.
        """
        # Import late: includes matplotlib.
        from bert_cli.runs.reporting import build_page

        folder = run_folder(self)
        return Page(f"Report of {os.path.basename(folder)}", build_page(RunDirectory(folder)))

    @classmethod
    def _load_trained(cls: type[Model], training: PythonTraining) -> Model:
        """Train as the command does, and load the trained model."""
        model_class: Any = cls  # typed as Any because each subclass has its own arguments for `load`
        with training.run() as (report, folder):
            model = model_class.load(folder, **options_for_predictions(training.options, folder))
        if training.output_dir is None:
            delete_with(model, folder)
        model.report = report
        model.data_facts = report[DATA_FACTS]
        model.output_dir = folder
        return model


def run_folder(model: TrainableModel) -> str:
    """Return the directory of the training that made a model."""
    return model.output_dir or run_folders(model.source.checkpoint)[-1]
