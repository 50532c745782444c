"""Description of a model for people: source, parameters, network and heads."""

from typing import NamedTuple

from bert_cli.base.head_types import count_parameters, head_of, parameters_line
from bert_cli.base.json_files import read_json_object
from bert_cli.base.names import CONFIG, HUGGING_FACE_CONFIG
from bert_cli.model.config import BertConfig, encoder_shapes
from bert_cli.model.config_files import MODULE_KEY
from bert_cli.model.config_keys import CONFIG_KEYS
from bert_cli.model.networks import BERT, ELECTRA, NETWORKS
from bert_cli.weights.path import CheckpointPath
from bert_cli.weights.variables import is_training_state


class ModelDescription(NamedTuple):
    """A model, described without reading its weights.

    Attributes:
        source: name of its file or module, for messages.
        network: name of its network; None if no file has it, and for a module.
        shapes: variable name -> shape, without training state.
    """

    source: str
    network: str | None
    shapes: dict[str, tuple[int, ...]]

    @property
    def parameters(self) -> dict[str, int]:
        """Return the numbers of parameters, see `count_parameters`."""
        return count_parameters(self.shapes)

    def lines(self) -> dict[str, str]:
        """Return name -> text, such as "model" and "network", for the log."""
        model = {"model": f"{self.source}: {parameters_line(self.parameters)}"}
        if self.network is None:
            return model
        heads = sorted({head for name in self.shapes if (head := head_of(name))})
        return model | {"network": f"{self.network}; heads: {', '.join(heads) or 'none'}"}


def describe_config(path: str, config: BertConfig) -> ModelDescription:
    """Describe an encoder without head from its config file."""
    return ModelDescription(path, _network(path), encoder_shapes(config))


def describe_checkpoint(checkpoint: CheckpointPath) -> ModelDescription:
    """Open a checkpoint and describe its model. Imports TensorFlow for some formats."""
    # Import late: open_checkpoint imports safetensors.
    from bert_cli.weights.checkpoint import open_checkpoint
    from bert_cli.weights.electra import ElectraReader

    reader = open_checkpoint(checkpoint)
    shapes = {name: shape for name, shape in reader.shapes.items() if not is_training_state(name)}
    if isinstance(reader, ElectraReader):
        return ModelDescription(reader.description, NETWORKS[ELECTRA].title, shapes)
    config_file = checkpoint.companion(CONFIG, HUGGING_FACE_CONFIG)
    return ModelDescription(reader.description, _network(config_file) if config_file else None, shapes)


def _network(config_file: str) -> str | None:
    values = read_json_object(config_file)
    CONFIG_KEYS.check(config_file, values)
    network = NETWORKS.get(str(values.get("model_type", BERT)))
    return network.title if network and MODULE_KEY not in values else None
