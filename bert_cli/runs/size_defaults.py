"""Learning rate and epochs for fine-tuning; their defaults depend on the model's size."""

from typing import Any, cast

from bert_cli.base.log import LOG
from bert_cli.flags.option import flag_values
from bert_cli.runs.run_directory.directory import RunDirectory
from bert_cli.runs.run_directory.manifest import COMMAND
from bert_cli.runs.tasks.interface import Recipe
from bert_cli.settings.training import TrainingSettings

# hidden_size -> defaults for models up to this width. Small models need larger steps: Turc et al.
# (2019) tried 3e-4, 1e-4, 5e-5 and 3e-5 in 4 epochs. docs/training.md has the table.
_UP_TO = {256: Recipe(3e-4, 4.0), 512: Recipe(1e-4, 4.0)}
GOOGLE = Recipe(5e-5, 3.0)  # defaults in Google's scripts, for BERT-Base and wider models


def defaults_of(width: int) -> Recipe:
    """Return the defaults for a model with hidden states of this width."""
    return next((_UP_TO[max_width] for max_width in sorted(_UP_TO) if width <= max_width), GOOGLE)


def resolve_recipe(settings: TrainingSettings, width: int, command: str) -> Recipe:
    """Return the learning rate and epochs, and log their source unless flags give them.

    A resumed run keeps its values, because another version may have chosen other defaults.

    Args:
        settings: flag values.
        width: the model's hidden_size.
        command: command name.
    """
    values = flag_values(settings)
    given: dict[str, float] = {name: values[name] for name in Recipe._fields if values.get(name) is not None}
    missing = [name for name in Recipe._fields if name in values and name not in given]
    recipe = defaults_of(width)._replace(**given)
    if not missing:
        return recipe
    directory, is_new = RunDirectory(settings.phases.output_dir), settings.phases.overwrite_output_dir
    manifest: dict[str, Any] = {}
    if not is_new and directory.newest_checkpoint is not None:
        manifest = directory.manifest or {}
    source = f"the default{'s' * (len(missing) > 1)} for a model of width {width}"
    if manifest.get(COMMAND) == command and all(isinstance(manifest.get(name), float) for name in missing):
        recipe = recipe._replace(**{name: cast(float, manifest[name]) for name in missing})
        source = f"as the run in {directory} began"
    LOG.info("%s: %s", ", ".join(f"--{name}={getattr(recipe, name):g}" for name in missing), source)
    return recipe
