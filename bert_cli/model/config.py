"""The shape of a BERT: Google's bert_config.json, Hugging Face's config.json, and the config of a
tensorflow-hub module.
"""

import dataclasses
import json
import os
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import read_json_object
from bert_cli.base.names import HUGGING_FACE_CONFIG
from bert_cli.base.writing import atomic_write
from bert_cli.model.networks import BERT, NETWORKS, Network
from bert_cli.runtime.memory import free_memory, machine_memory

GELU_FORMS = ("erf", "tanh")
# Added to the scores of padded keys in attention, as in the original.
MASKED_SCORE = -10000.0
# Activations by the names that occur in config files; "gelu" alone depends on the file's home (see
# read_config).
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


# What to take instead of a network that is none of BERT's.
_ANY_BERT = "take a BERT, such as bert-base-uncased"
_INSTEAD = {
    "xlm-roberta": "take the BERT of 104 languages instead, bert-base-multilingual-cased",
    "roberta": "take bert-base-cased instead, or bert-large-cased",
}
# Keys that only Hugging Face's files have.
_HUGGING_FACE_KEYS = ("model_type", "architectures", "transformers_version")
_SIZES = [field.name for field in dataclasses.fields(BertConfig) if field.type is int]
_RATES = [field.name for field in dataclasses.fields(BertConfig) if field.type is float]
_LARGEST = 2**31 - 1  # of a dimension
_NEEDED = "a bert_config.json is needed"
MODULE_KEY = "hub_module"  # the key by which a ModuleConfig's file is recognised


def read_config(path: str, gelu: str = "auto", vocab_size: int | None = None) -> BertConfig:
    """Read a bert_config.json or a Hugging Face config.json; unknown keys are ignored, as the
    original does.

    `gelu` is auto, erf or tanh. Auto computes `hidden_act: gelu` as the file's home does: tanh for
    Google's file, erf for Hugging Face's; a file of our own records its form in the key `gelu`.
    `vocab_size` is used where the file has none, as for a model that is to be trained from
    nothing. Raises InputError naming file and key.
    """
    values = read_json_object(path, needed=_NEEDED)
    if MODULE_KEY in values:
        raise InputError(
            f"{path}: this model's encoder is the module {values[MODULE_KEY]}, which is not a BERT; one is needed here"
        )
    if vocab_size is not None:
        values = {"vocab_size": vocab_size} | values
    hugging_face = os.path.basename(path) == HUGGING_FACE_CONFIG or any(key in values for key in _HUGGING_FACE_KEYS)
    network = NETWORKS[BERT]
    # Other networks have other sizes, so this error comes first.
    if hugging_face:
        _check_network(path, values)
        network = NETWORKS[values.get("model_type", BERT)]
        if unsupported := network.unsupported(values):
            raise InputError(f"{path}: {unsupported}")
        values = {**network.defaults, **{network.keys.get(key, key): value for key, value in values.items()}}
    values = {key: value for key, value in values.items() if key not in network.constants}
    _check_values(path, values)
    known = {field.name for field in dataclasses.fields(BertConfig)}
    chosen = {key: value for key, value in values.items() if key in known}
    # An empty name, or null, is no activation at all, as in the original.
    chosen["hidden_act"] = chosen.get("hidden_act", "gelu") or "linear"
    chosen |= network.constants
    # The same word means two formulas: Google's "gelu" is the tanh approximation, Hugging Face's
    # the exact form.
    home = "erf" if hugging_face else "tanh"
    chosen["gelu"] = chosen.get("gelu", home) if gelu == "auto" else gelu
    try:
        return BertConfig(**chosen)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def read_module_config(path: str) -> ModuleConfig | None:
    """Read the bert_config.json of a run with an encoder that is a module for tensorflow-hub; None
    for another model's.
    """
    values = read_json_object(path, needed=_NEEDED)
    if MODULE_KEY not in values:
        return None
    if set(values) != {field.name for field in dataclasses.fields(ModuleConfig)}:
        raise InputError(f"{path}: is damaged: it has the keys {', '.join(sorted(values))}")
    if not isinstance(values[MODULE_KEY], str):
        raise InputError(f"{path}: {MODULE_KEY} must be a text, found {values[MODULE_KEY]!r}")
    _check_sizes(path, values)
    return ModuleConfig(**values)


def refuse_other_network(path: str) -> None:
    """InputError for the config.json of another network than BERT, such as RoBERTa."""
    if os.path.basename(path) == HUGGING_FACE_CONFIG:
        _check_network(path, read_json_object(path, needed=_NEEDED))


def _check_network(path: str, values: dict) -> None:
    if str(values.get("model_type", BERT)) not in NETWORKS:
        raise InputError(
            f"{path}: model_type is {values['model_type']!r}, which is another network than BERT "
            f"and cannot be loaded; {_INSTEAD.get(str(values['model_type']), _ANY_BERT)}; "
            "docs/models.md says where to get it"
        )


def _check_values(path: str, values: dict) -> None:
    if "vocab_size" not in values:
        raise InputError(f"{path}: has no vocab_size; is this a bert_config.json?")
    _check_sizes(path, values)
    for key in _RATES:
        value = values.get(key, 0.0)
        # Dropout with a rate of 1 would divide by 0: the kept values are scaled by 1/(1 - rate).
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 0.99:
            raise InputError(f"{path}: {key} must be a number from 0 to 0.99, found {value!r}")
    if not isinstance(values.get("hidden_act", ""), str | None):
        raise InputError(f"{path}: hidden_act must be a name, found {values['hidden_act']!r}")
    if values.get("gelu", "tanh") not in GELU_FORMS:
        raise InputError(f"{path}: gelu must be erf or tanh, found {values['gelu']!r}")
    if values.get("position_embedding_type", "absolute") != "absolute":
        raise InputError(f"{path}: position_embedding_type {values['position_embedding_type']!r} is not supported")


def _check_sizes(path: str, values: dict) -> None:
    for key in _SIZES:
        value = values.get(key, 1)
        # Python counts true as the integer 1.
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InputError(f"{path}: {key} must be a whole number above 0, found {value!r}")
        if value > _LARGEST:
            raise InputError(f"{path}: {key} must be at most {_LARGEST}, found {str(value)[:20]}")


def write_config(path: str, config: BertConfig | ModuleConfig) -> None:
    """Write Google's bert_config.json (sorted keys, indent 2), atomically.

    The keys `gelu` and `layer_norm_eps`, which the original ignores, are added only where they
    differ from what the original computes, and `model_type` where the network is not BERT, so that
    a config of Google's comes out as it went in.
    """
    values = config.values()
    # A file with a model_type is read as one of Hugging Face's, where "gelu" is the erf form.
    if values.get("gelu") == "tanh" and "model_type" not in values:
        del values["gelu"]
    if values.get("layer_norm_eps") == 1e-12:
        del values["layer_norm_eps"]
    with atomic_write(path) as file:
        file.write(json.dumps(values, indent=2, sort_keys=True) + "\n")
