"""The learning rate and the epochs of fine-tuning where no flag gives them: by the size of the
model.
"""

from typing import Any, NamedTuple

from bert_cli.base.log import LOG
from bert_cli.flags.option import flag_values, replace_values
from bert_cli.runs.output_dir.manifest import COMMAND, read_manifest
from bert_cli.settings.training import TrainingSettings
from bert_cli.weights.training_folder import latest_checkpoint


class Defaults(NamedTuple):
    """Of models up to a width: the peak learning rate, and the passes over the training data."""

    learning_rate: float
    num_train_epochs: float


# Width of the encoder (hidden_size) -> defaults of models up to this width. Small models need
# larger steps: Turc et al. (2019) tried 3e-4, 1e-4, 5e-5 and 3e-5 in 4 epochs. docs/training.md has
# the table.
_UP_TO = {256: Defaults(3e-4, 4.0), 512: Defaults(1e-4, 4.0)}
GOOGLE = Defaults(5e-5, 3.0)  # the defaults of Google's scripts, which are for BERT-Base and wider


def defaults_of(width: int) -> Defaults:
    """The defaults of a model with hidden states of this width."""
    return next((_UP_TO[most] for most in sorted(_UP_TO) if width <= most), GOOGLE)


def with_size_defaults(settings: TrainingSettings, width: int, command: str) -> Any:
    """The settings of a training with its learning rate and epochs; the log says where they are
    defaults.

    width: hidden_size of the model. Flags that are given stay. A run that output_dir holds keeps
    its own values, which another version may have chosen differently.
    """
    values = flag_values(settings)
    missing = [name for name in Defaults._fields if name in values and values[name] is None]
    if not missing:
        return settings
    folder, is_new = settings.phases.output_dir, settings.phases.overwrite_output_dir
    before = None if is_new or latest_checkpoint(folder) is None else read_manifest(folder)
    found = {name: getattr(defaults_of(width), name) for name in missing}
    source = f"the default{'s' * (len(found) > 1)} for a model of width {width}"
    if before and before.get(COMMAND) == command and all(isinstance(before.get(name), float) for name in missing):
        found = {name: before[name] for name in missing}
        source = f"as the run in {folder} began"
    LOG.info("%s: %s", ", ".join(f"--{name}={value:g}" for name, value in found.items()), source)
    return replace_values(settings, found)
