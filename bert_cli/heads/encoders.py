"""The encoder that a config describes."""

from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.model.encoder import BertEncoder
from bert_cli.weights.hub_encoder import ModuleEncoder


def make_encoder(config: BertConfig | ModuleConfig, compute_dtype: str = "float32", seed: int = 0):
    """A BertEncoder, or a module for tensorflow-hub, which keeps its own precision and starts from its own weights."""
    if isinstance(config, ModuleConfig):
        return ModuleEncoder(config)
    return BertEncoder(config, compute_dtype, seed)
