"""The shape of a BERT."""

import dataclasses

from bert_cli.base.errors import InputError
from bert_cli.runtime.memory import machine_memory

GELU_FORMS = ("erf", "tanh")
# Added to the scores of padded keys in attention, as in the original.
MASKED_SCORE = -10000.0
# Activations by the names that occur in config files; "gelu" alone depends on the file's home (see read_config).
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
    """Sizes and rates of a BERT encoder; defaults are those of the original's BertConfig.

    `gelu` says how `hidden_act="gelu"` is computed: "tanh" is the approximation of the original since 2019-02,
    "erf" the exact form of Hugging Face (and of the original before that).
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


def encoder_shapes(config: BertConfig) -> dict[str, tuple[int, ...]]:
    """Google's name -> shape of each variable of an encoder."""
    hidden, wide = config.hidden_size, config.intermediate_size
    shapes: dict[str, tuple[int, ...]] = {
        "bert/embeddings/word_embeddings": (config.vocab_size, hidden),
        "bert/embeddings/token_type_embeddings": (config.type_vocab_size, hidden),
        "bert/embeddings/position_embeddings": (config.max_position_embeddings, hidden),
    }
    dense, norms = {"bert/pooler/dense": (hidden, hidden)}, ["bert/embeddings/LayerNorm"]
    for number in range(config.num_hidden_layers):
        scope = f"bert/encoder/layer_{number}"
        dense |= {f"{scope}/attention/self/{part}": (hidden, hidden) for part in ("query", "key", "value")}
        dense |= {f"{scope}/attention/output/dense": (hidden, hidden)}
        dense |= {f"{scope}/intermediate/dense": (hidden, wide), f"{scope}/output/dense": (wide, hidden)}
        norms += [f"{scope}/attention/output/LayerNorm", f"{scope}/output/LayerNorm"]
    for scope, shape in dense.items():
        shapes |= {f"{scope}/kernel": shape, f"{scope}/bias": shape[1:]}
    return shapes | {f"{scope}/{name}": (hidden,) for scope in norms for name in ("gamma", "beta")}


def _check_memory(config: BertConfig) -> None:
    """InputError where the weights alone would need more memory than this machine has."""
    hidden = config.hidden_size
    numbers = {
        "vocab_size": config.vocab_size * hidden,
        "max_position_embeddings": config.max_position_embeddings * hidden,
        "type_vocab_size": config.type_vocab_size * hidden,
        "hidden_size": 4 * hidden * hidden,
        "intermediate_size": 2 * hidden * config.intermediate_size,
    }
    # Four bytes a number: weights are float32 whatever the compute dtype.
    of_a_layer = 4 * (numbers["hidden_size"] + numbers["intermediate_size"]) + _LAYER_BYTES
    needed = 4 * sum(list(numbers.values())[:3]) + config.num_hidden_layers * of_a_layer
    available = machine_memory()
    if needed > available:
        key = max(numbers, key=numbers.__getitem__)
        key = "num_hidden_layers" if config.num_hidden_layers > _MANY_LAYERS else key
        gigabytes = f"{min(needed, _MOST_SHOWN) // 10**9:,} GB"
        raise InputError(
            f"{key} {getattr(config, key)} cannot be right: the weights of a model of these sizes need {gigabytes} of memory, "
            f"this machine has {available // 10**9} GB"
        )


@dataclasses.dataclass(frozen=True)
class ModuleConfig:
    """What is known of an encoder that is no BERT: a module for tensorflow-hub, which is used as it is.

    `hub_module` is its handle: a path that holds from any working directory, or a URL.
    """

    hub_module: str
    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    max_position_embeddings: int


_LAYER_BYTES = 50_000  # of the objects and the graph of one layer, however small it is
_MANY_LAYERS = 1000
_MOST_SHOWN = 10**21  # bytes
