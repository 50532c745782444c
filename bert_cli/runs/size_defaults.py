"""Default learning rate and epochs for fine-tuning, which depend on the model's size."""

from typing import Any, NamedTuple

from bert_cli.base.log import LOG
from bert_cli.flags.option import flag_values, replace_values
from bert_cli.runs.output_dir.manifest import COMMAND, read_manifest
from bert_cli.settings.training import TrainingSettings
from bert_cli.weights.training_folder import latest_checkpoint


class Defaults(NamedTuple):
    """Defaults for models up to some width.

    Attributes:
        learning_rate: peak learning rate.
        num_train_epochs: passes over the training data.
    """

    learning_rate: float
    num_train_epochs: float


# hidden_size -> defaults for models up to this width. Small models need larger steps: Turc et al.
# (2019) tried 3e-4, 1e-4, 5e-5 and 3e-5 in 4 epochs. docs/training.md has the table.
_UP_TO = {256: Defaults(3e-4, 4.0), 512: Defaults(1e-4, 4.0)}
GOOGLE = Defaults(5e-5, 3.0)  # defaults in Google's scripts, for BERT-Base and wider models


def defaults_of(width: int) -> Defaults:
    """Return the defaults for a model with hidden states of this width."""
    return next((_UP_TO[max_width] for max_width in sorted(_UP_TO) if width <= max_width), GOOGLE)


def with_size_defaults(settings: TrainingSettings, width: int, command: str) -> Any:
    """Return settings with learning rate and epochs, and log their source unless flags give them.

    A resumed run keeps its values, because another version may have chosen other defaults.

    Args:
        settings: flag values.
        width: the model's hidden_size.
        command: command name.
    """
    values = flag_values(settings)
    missing = [name for name in Defaults._fields if name in values and values[name] is None]
    if not missing:
        return settings
    folder, is_new = settings.phases.output_dir, settings.phases.overwrite_output_dir
    manifest = None if is_new or latest_checkpoint(folder) is None else read_manifest(folder)
    defaults = {name: getattr(defaults_of(width), name) for name in missing}
    source = f"the default{'s' * (len(defaults) > 1)} for a model of width {width}"
    if manifest and manifest.get(COMMAND) == command and all(isinstance(manifest.get(name), float) for name in missing):
        defaults = {name: manifest[name] for name in missing}
        source = f"as the run in {folder} began"
    LOG.info("%s: %s", ", ".join(f"--{name}={value:g}" for name, value in defaults.items()), source)
    return replace_values(settings, defaults)
