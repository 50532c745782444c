"""Base class for models that can be trained from Python, as a command trains them."""

import contextlib
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from bert_cli.api.arguments import parse_arguments
from bert_cli.api.saving import SavableModel, delete_with, temporary_folder
from bert_cli.api.watching import Watching
from bert_cli.base.errors import InputError
from bert_cli.base.head_types import parameters_line
from bert_cli.base.log import show_log
from bert_cli.base.messages import list_names
from bert_cli.flags.option import build
from bert_cli.flags.paths import path_text
from bert_cli.flags.refusals import check_rules
from bert_cli.inference.rows import Predictor
from bert_cli.runtime.forks import ForkedLock
from bert_cli.settings.checks import with_frozen_encoder

_TRAINING = ForkedLock()


Model = TypeVar("Model", bound="TrainableModel")


class TrainableModel(SavableModel):
    """Base class for models that can be trained.

    Attributes:
        report: content of run_report.json after training, with metrics in report["eval"]; None after
            `load`.
        output_dir: the training run's directory, None after `load`.
    """

    report: dict[str, Any] | None = None
    output_dir: str | None = None
    _session: Predictor

    def facts(self) -> dict[str, str]:
        """Return what a notebook shows of the model: name -> text."""
        engine_facts = self._session.engine.facts()
        labels = list(getattr(self, "labels", ()))
        facts = super().facts() | ({"labels": list_names(labels)} if labels else {})
        parameters = f"{engine_facts['parameters']['total']:,}"
        versions = ", ".join(f"{name} {version}" for name, version in engine_facts["versions"].items())
        return facts | {"parameters": parameters, "device": str(engine_facts["devices"]), "computed by": versions}

    def summary(self) -> dict[str, int]:
        """Print the model and the number of parameters, and return it as {"total": …, part: …}.

        See count_parameters for the parts.
        """
        counts = self._session.engine.facts()["parameters"]
        print(self)
        print(parameters_line(counts))
        return counts

    @classmethod
    def _run(
        cls: type[Model],
        settings_class: type,
        make_task: Callable[[Any], Any],
        phases: Mapping[str, Any],
        output_dir: str | os.PathLike | None,
        options: Mapping[str, Any],
        complete: Callable[[Any], Any] = lambda settings: settings,
        watching: Watching = Watching(),  # noqa: B008 (a frozen value)
    ) -> Model:
        """Train as the command does, and load the trained model.

        Args:
            settings_class: dataclass of the command's flag groups.
            make_task: function from the settings to the command's task.
            phases: flag values that the method sets, None for those not given.
            output_dir: the run's directory. With None, it is temporary and deleted together with
                the model.
            options: flag values from the caller, which may not include those in `phases`.
            complete: function that returns the settings with derived values, and may refuse them.
            watching: the caller's callbacks, and how much to show.
        """
        if options.get("cross_validation"):
            raise InputError("cross_validation: leaves no model to load; the command does it, on a file")
        model_class: Any = cls  # typed as Any because each subclass has its own arguments for `load`
        values = parse_arguments(settings_class, options, phases)
        given_phases = {name: value for name, value in phases.items() if value is not None}
        paths = {
            name: path_text(value, name) for name, value in given_phases.items() if isinstance(value, str | os.PathLike)
        }
        values |= given_phases | paths
        # Set this here, because no method has it as an argument.
        values["do_train"] = True
        # The name of a temporary directory breaks no rule.
        check_rules(build(settings_class, values | {"output_dir": output_dir or "temporary"}))
        from bert_cli.runs import driver  # import late: includes the report pages, which `load` does not need

        rerun = ""  # a temporary directory is deleted after a signal
        if output_dir is not None:
            rerun = "the same call"
            if values["overwrite_output_dir"]:
                rerun += " without overwrite_output_dir"
        given_folder = None if output_dir is None else contextlib.nullcontext(path_text(output_dir, "output_dir"))
        with given_folder or temporary_folder() as folder:
            settings = complete(with_frozen_encoder(build(settings_class, values | {"output_dir": folder})))
            # Train in one thread at a time: trainings would compete for processors, and
            # TensorFlow's options are global.
            with _TRAINING, show_log(watching.log_level):
                report = driver.run(make_task, settings, rerun, watching.observers())
            model = model_class.load(folder, precision=options.get("precision"), hub_module=options.get("hub_module"))
        if output_dir is None:
            delete_with(model, folder)
        model.report = report
        model.output_dir = folder
        return model
