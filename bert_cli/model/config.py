"""Configs of encoders (a BERT, or a module for tensorflow-hub), and the weights of these sizes.

model.config_files reads and writes configs.
"""

import dataclasses

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, FINE_TUNED, HEAD_INPUTS, HeadSpec, pretraining_shapes
from bert_cli.base.json_files import JsonObject
from bert_cli.model.networks import BERT, NETWORKS, NetworkVariant
from bert_cli.runtime.machine import free_memory, machine_memory

# Added to the attention scores of padded keys, as in the original.
MASKED_SCORE = -10000.0
WORD_EMBEDDINGS = "bert/embeddings/word_embeddings"
# Scope of the dense layer between embeddings and layers, if their widths differ.
PROJECTION = "bert/embeddings_project"
# Names in config files -> activations. Only "gelu" depends on the file's origin, see
# config_files.read_config.
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
    """Sizes and rates of a BERT encoder, with the original's defaults.

    Attributes:
        type_vocab_size: number of token types; 0 if the network has no such embeddings.
        gelu: formula for `hidden_act="gelu"`. "tanh" is the approximation that the original uses
            since 2019-02. "erf" is the exact form used by Hugging Face and by the older original.
        model_type: a key of NETWORKS.
        embedding_size: width of an ELECTRA's embeddings; 0 if it equals hidden_size.
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

    def __post_init__(self) -> None:
        if self.hidden_size % self.num_attention_heads:
            raise InputError(
                f"hidden_size {self.hidden_size} is not a multiple of num_attention_heads {self.num_attention_heads}"
            )
        if self.hidden_act.lower() not in _ACTIVATIONS:
            raise InputError(f"hidden_act {self.hidden_act!r} is not one of linear, relu, tanh, gelu, gelu_new")
        if self.gelu not in ("erf", "tanh"):
            raise InputError(f"gelu must be erf or tanh, found {self.gelu!r}")
        _check_memory(self)

    @property
    def activation(self) -> str:
        """Return linear, relu, tanh, gelu_tanh or gelu_erf."""
        name = _ACTIVATIONS[self.hidden_act.lower()]
        return f"gelu_{self.gelu}" if name == "gelu" else name

    @property
    def network(self) -> NetworkVariant:
        """Return the differences between this network and BERT."""
        return NETWORKS[self.model_type]

    @property
    def masked_lm_activation(self) -> str:
        """Return the masked-LM head's activation, named as in `activation`."""
        return self.network.masked_lm_activation or self.activation

    @property
    def embedding_width(self) -> int:
        """Return E, the embedding width."""
        return self.embedding_size or self.hidden_size

    @property
    def attention_output_dropout_prob(self) -> float:
        """Return the dropout rate after the dense layer of attention."""
        return self.hidden_dropout_prob if self.network.drops_attention_output else 0.0

    def values(self) -> JsonObject:
        """Return the fields for a config file, without `model_type` if the network is BERT."""
        # Google's files have neither field.
        values = dataclasses.asdict(self)
        if self.model_type == BERT:
            del values["model_type"]
        if not self.embedding_size:
            del values["embedding_size"]
        return values

    @property
    def weight_bytes(self) -> int:
        """Return the size in bytes of the encoder's weights, which are always float32."""
        *embeddings, attention, feed_forward = _weight_counts(self).values()
        return 4 * (sum(embeddings) + self.num_hidden_layers * (attention + feed_forward))


def _weight_counts(config: BertConfig) -> dict[str, int]:
    """Return the number of weights that each size causes, for the last two in one layer."""
    hidden, width = config.hidden_size, config.embedding_width
    return {
        "vocab_size": config.vocab_size * width,
        "max_position_embeddings": config.max_position_embeddings * width,
        "type_vocab_size": config.type_vocab_size * width,
        "hidden_size": 4 * hidden * hidden,
        "intermediate_size": 2 * hidden * config.intermediate_size,
    }


def _check_memory(config: BertConfig) -> None:
    """Raise InputError if the weights alone need more memory than this machine has free."""
    weight_counts = _weight_counts(config)
    # A layer's objects and graph take some 50 kB.
    needed = config.weight_bytes + config.num_hidden_layers * 50_000
    available = machine_memory()
    free = free_memory()
    if needed > free:
        key = max(weight_counts, key=weight_counts.__getitem__)
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
    """Sizes of an encoder that is a module for tensorflow-hub, used without conversion.

    Attributes:
        hub_module: the module's handle: an absolute path or a URL.
    """

    hub_module: str
    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    max_position_embeddings: int

    def values(self) -> JsonObject:
        """Return the fields for a config file."""
        return dataclasses.asdict(self)


def encoder_shapes(config: BertConfig) -> dict[str, tuple[int, ...]]:
    """Return the shapes of an encoder's variables by Google's names."""
    hidden, wide, width = config.hidden_size, config.intermediate_size, config.embedding_width
    shapes: dict[str, tuple[int, ...]] = {
        WORD_EMBEDDINGS: (config.vocab_size, width),
        "bert/embeddings/token_type_embeddings": (config.type_vocab_size, width),
        "bert/embeddings/position_embeddings": (config.max_position_embeddings, width),
    }
    if not config.type_vocab_size:
        del shapes["bert/embeddings/token_type_embeddings"]
    dense = {"bert/pooler/dense": (hidden, hidden)}
    if width != hidden:
        dense[PROJECTION] = (width, hidden)
    norms = []
    for number in range(config.num_hidden_layers):
        scope = f"bert/encoder/layer_{number}"
        dense |= {f"{scope}/attention/self/{name}": (hidden, hidden) for name in ("query", "key", "value")}
        dense |= {f"{scope}/attention/output/dense": (hidden, hidden)}
        dense |= {f"{scope}/intermediate/dense": (hidden, wide), f"{scope}/output/dense": (wide, hidden)}
        norms += [f"{scope}/attention/output/LayerNorm", f"{scope}/output/LayerNorm"]
    for scope, shape in dense.items():
        shapes |= {f"{scope}/kernel": shape, f"{scope}/bias": shape[1:]}
    shapes |= {f"bert/embeddings/LayerNorm/{name}": (width,) for name in ("gamma", "beta")}
    return shapes | {f"{scope}/{name}": (hidden,) for scope in norms for name in ("gamma", "beta")}


def all_weight_names() -> list[str]:
    """Return the names of weights of BERT and related networks, with one layer and all heads."""
    sizes = BertConfig(1, 1, 1, 1, intermediate_size=1, max_position_embeddings=1, type_vocab_size=1, embedding_size=2)
    fine_tuned = [
        *(HeadSpec(head_type) for head_type in FINE_TUNED),
        *(HeadSpec(CLASSIFIER, text_input=text_input) for text_input in HEAD_INPUTS.values()),
    ]
    discriminator_layers = ("dense", "dense_1")
    return [
        *encoder_shapes(sizes),
        *pretraining_shapes(hidden_size=1, embedding_width=2, vocab_size=1),
        *dict.fromkeys(name for head in fine_tuned for name in head.shapes(hidden_size=1)),
        *(f"discriminator_predictions/{layer}/{name}" for layer in discriminator_layers for name in ("kernel", "bias")),
    ]
