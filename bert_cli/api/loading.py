"""Steps that the classes of this package share: finding a model, and training as a command does."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from bert_cli.api.arguments import parse_arguments
from bert_cli.base.errors import InputError
from bert_cli.base.head_types import parameters_line
from bert_cli.base.log import show_log
from bert_cli.features.cuts import Cuts, warn_cuts
from bert_cli.flags.option import build
from bert_cli.flags.paths import path_text
from bert_cli.runs.engine.predictor import Predictor
from bert_cli.runs.loading.checkpoints import ready_checkpoint
from bert_cli.runs.loading.trained import check_command
from bert_cli.runtime.forks import ForkedLock
from bert_cli.settings.checks import check_and_derive
from bert_cli.settings.groups import ModelFiles
from bert_cli.weights.path import CheckpointPath, find_checkpoint

_TRAINING = ForkedLock()


def find(path: str | os.PathLike | None, command: str | None = None) -> CheckpointPath:
    """An output_dir, or a checkpoint of any format; None: the pre-trained model in the box.
    InputError where there is none, or one of another command.
    """
    if path is None:
        return ready_checkpoint("", ModelFiles())
    checkpoint = find_checkpoint(path_text(path), "path")
    if command:
        check_command(checkpoint, command)
    return checkpoint


def flags_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The flags of the command among locals() at the beginning of a `load`: every argument but the
    class and the path.
    """
    return {name: value for name, value in arguments.items() if name not in ("cls", "path")}


class Cutting:
    """A model that cuts long texts. Each call of it reports what it cut to `on_cut`, once.

    Attributes:
        on_cut: function of the counts and the maximal length in tokens; logs a warning by default.
    """

    on_cut: Callable[[Cuts, int], None] = staticmethod(warn_cuts)


Kind = TypeVar("Kind", bound="Trained")


class Trained:
    """A model's results of its training: `report`, as in run_report.json, and `output_dir`; None
    after `load`.
    """

    report: dict[str, Any] | None = None
    output_dir: str | None = None
    _session: Predictor

    def summary(self) -> dict[str, int]:
        """Print how many parameters the model has, and return the numbers: `total`, and of each
        part (see count_parameters).
        """
        counts = self._session.facts()["parameters"]
        print(parameters_line(counts))
        return counts

    @classmethod
    def _run(
        cls: type[Kind],
        settings_class: type,
        make_task: Callable[[Any], Any],
        phases: Mapping[str, Any],
        output_dir: str | os.PathLike | None,
        options: Mapping[str, Any],
        check: Callable[[dict[str, Any]], object] = lambda values: None,
    ) -> Kind:
        """Train as the command does, on flags by name, and load what came of it.

        phases: flags that the method says, None for those not given; options: the arguments of its
        caller, which may name none of them. output_dir: None for a temporary folder, which is
        removed with the model. make_task(settings) is the command's task. check: sees all values
        and may change them.
        """
        if options.get("cross_validation"):
            raise InputError("cross_validation: leaves no model to load; the command does it, on a file")
        kind: Any = cls  # its `load` takes more arguments than others
        values = parse_arguments(settings_class, options, phases)
        said = {name: value for name, value in phases.items() if value is not None}
        paths = {name: path_text(value, name) for name, value in said.items() if isinstance(value, str | os.PathLike)}
        values |= said | paths
        # Not among the phases, as no method takes it as an argument.
        values["do_train"] = True
        # In the order of the commands: their own checks see what complete has derived.
        check(check_and_derive(values))
        folder = tempfile.mkdtemp(prefix="bert_cli-") if output_dir is None else path_text(output_dir, "output_dir")
        from bert_cli.runs import driver  # and the pages of reports, which a model that is loaded does without

        rerun = ""  # a temporary folder is removed after a signal
        if output_dir is not None:
            rerun = "the same call" + " without overwrite_output_dir" * values["overwrite_output_dir"]
        try:
            settings = build(settings_class, values | {"output_dir": folder})
            # A thread waits for another one's training: both would use the same processors, and
            # TensorFlow's options belong to the process.
            with _TRAINING, show_log():
                report = driver.run(make_task(settings), settings, rerun)
            model = kind.load(folder, precision=options.get("precision"), hub_module=options.get("hub_module"))
        # Ctrl-C, too, must not leave a temporary folder of several hundred megabytes.
        except BaseException:
            if output_dir is None:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        if output_dir is None:
            # Not __del__: finalize also runs at the end of the process.
            weakref.finalize(model, shutil.rmtree, folder, ignore_errors=True)
        model.report = report
        model.output_dir = folder
        return model
