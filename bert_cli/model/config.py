"""The shape of a BERT, and of an encoder that is a module for tensorflow-hub; files:
model.config_files.
"""

import dataclasses
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.model.networks import BERT, NETWORKS, Network
from bert_cli.runtime.memory import free_memory, machine_memory

# Added to the scores of padded keys in attention, as in the original.
MASKED_SCORE = -10000.0
# Activations by the names that occur in config files; "gelu" alone depends on the file's home (see
# config_files.read_config).
_ACTIVATIONS = {
    "": "linear",
    "linear": "linear",
    "relu": "relu",
    "tanh": "tanh",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_python": "gelu_erf",
}


@dataclasses.dataclass(frozen=True)
class BertConfig:
    """Sizes and rates of a BERT encoder; defaults as in the original's BertConfig.

    `gelu` says how `hidden_act="gelu"` is computed: "tanh" is the approximation of the original
    since 2019-02, "erf" the exact form of Hugging Face (and of the original before that).
    `model_type`: a key of NETWORKS. `type_vocab_size` is 0 where there are no token types.
    `embedding_size`: of an ELECTRA, the width of its embeddings; 0 for hidden_size.
    """

    vocab_size: int
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    hidden_act: str = "gelu"
    intermediate_size: int = 3072
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 16
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    gelu: str = "tanh"
    model_type: str = BERT
    embedding_size: int = 0

    def __post_init__(self):
        if self.hidden_size % self.num_attention_heads:
            raise InputError(
                f"hidden_size {self.hidden_size} is not a multiple of num_attention_heads {self.num_attention_heads}"
            )
        if self.hidden_act.lower() not in _ACTIVATIONS:
            raise InputError(f"hidden_act {self.hidden_act!r} is not one of linear, relu, tanh, gelu, gelu_new")
        _check_memory(self)

    @property
    def activation(self) -> str:
        """One of linear, relu, tanh, gelu_tanh, gelu_erf."""
        name = _ACTIVATIONS[self.hidden_act.lower()]
        return f"gelu_{self.gelu}" if name == "gelu" else name

    @property
    def network(self) -> Network:
        """What distinguishes its network from BERT."""
        return NETWORKS[self.model_type]

    @property
    def masked_lm_activation(self) -> str:
        """Of the masked-LM head; one of the names of `activation`."""
        return self.network.masked_lm_activation or self.activation

    @property
    def embedding_width(self) -> int:
        """Of the tables of embeddings, E."""
        return self.embedding_size or self.hidden_size

    @property
    def attention_output_dropout_prob(self) -> float:
        """The rate of dropout of what attention adds."""
        return self.hidden_dropout_prob if self.network.drops_attention_output else 0.0

    def values(self) -> dict[str, Any]:
        """The fields by name, as files keep them: `model_type` only of another network than BERT."""
        # A file of a BERT, and a checksum of it, is as it was before there was the field.
        values = dataclasses.asdict(self)
        if self.model_type == BERT:
            del values["model_type"]
        if not self.embedding_size:
            del values["embedding_size"]
        return values


def _check_memory(config: BertConfig) -> None:
    """InputError where the weights alone would need more memory than this machine has free."""
    hidden, width = config.hidden_size, config.embedding_width
    numbers = {
        "vocab_size": config.vocab_size * width,
        "max_position_embeddings": config.max_position_embeddings * width,
        "type_vocab_size": config.type_vocab_size * width,
        "hidden_size": 4 * hidden * hidden,
        "intermediate_size": 2 * hidden * config.intermediate_size,
    }
    # Four bytes a number: weights are float32 whatever the compute dtype. Objects and graph of a
    # layer take some 50 kB.
    of_a_layer = 4 * (numbers["hidden_size"] + numbers["intermediate_size"]) + 50_000
    needed = 4 * sum(list(numbers.values())[:3]) + config.num_hidden_layers * of_a_layer
    available = machine_memory()
    free = free_memory()
    if needed > free:
        key = max(numbers, key=numbers.__getitem__)
        key = "num_hidden_layers" if config.num_hidden_layers > 1000 else key
        gigabytes = f"{min(needed, 10**21) // 10**9:,} GB"
        likely = "cannot be right" if needed > available else "is too large, or damaged"
        raise InputError(
            f"{key} {getattr(config, key)} {likely}: the weights of a model of these sizes need "
            f"{gigabytes} of memory, this machine has {available // 10**9} GB, {free // 10**9} GB "
            "of them free"
        )


@dataclasses.dataclass(frozen=True)
class ModuleConfig:
    """What is known about an encoder that is not a BERT: a module for tensorflow-hub, which is used
    as it is.

    `hub_module` is its handle: a path that holds from any working directory, or a URL.
    """

    hub_module: str
    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    max_position_embeddings: int

    def values(self) -> dict[str, Any]:
        """The fields by name, as files keep them."""
        return dataclasses.asdict(self)
