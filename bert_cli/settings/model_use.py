"""Flags of bert-serve for the use of its models, each for all models or for one of them."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from bert_cli.base.errors import refuse_if
from bert_cli.base.names import HEAD_TAIL, TRUNCATE, WINDOWS
from bert_cli.base.pooling import NONE, POOLINGS, read_pooling
from bert_cli.flags.option import FlagGroup, build, every_flag, group, option
from bert_cli.flags.refusals import check_rules
from bert_cli.flags.values import convert_value
from bert_cli.settings.answering import Extraction
from bert_cli.settings.groups import LAST_LAYER, Encoding, ModelFiles

MODEL_NAME = re.compile(r"[A-Za-z0-9._-]+")
_BOOLEANS = ("true", "false")
# A flag's texts by model name; the name "" is for all models.
PerModel = tuple[tuple[str, str], ...]


def _per_model(flag: str, help: str, **properties: Any) -> Any:
    """Return a field for a flag with a value for all models, or NAME=VALUE for one model.

    Args:
        flag: the flag's name.
        help: its help text.
        properties: attributes of Option.
    """

    def read(text: str) -> PerModel:
        values: dict[str, str] = {}
        for line in text.split("\n"):
            name, sign, value = line.partition("=")
            if not (sign and MODEL_NAME.fullmatch(name)):
                name, value = "", line
            refuse_if(not value, f"--{flag}={line}: a value is needed after NAME=")
            refuse_if(name in values, f"--{flag}={line}: is given twice for {name or 'all models'}")
            values[name] = value
        return tuple(values.items())

    return option((), help, read=read, repeated=True, **properties)


class ModelUse(FlagGroup, heading="Use of the models"):
    """Use of the models: a value for all of them, or NAME=VALUE for the model NAME."""

    max_seq_length: PerModel = _per_model(
        "max_seq_length",
        "maximum sequence length in tokens; longer texts are cut; default: the training run's, or the model's own",
    )
    long_text: PerModel = _per_model(
        "long_text",
        "treatment of longer texts: truncate, head_tail or windows; default: the training run's, or truncate",
        suggestions=(TRUNCATE, HEAD_TAIL, WINDOWS),
    )
    labels: PerModel = _per_model(
        "labels", "names of a classifier's outputs, in their order; default: those in the model's files"
    )
    do_lower_case: PerModel = _per_model(
        "do_lower_case",
        "lower-case texts and strip accents, true or false; default: the model's setting",
        suggestions=_BOOLEANS,
        implicit_value="true",
    )
    vocab_file: PerModel = _per_model("vocab_file", "vocabulary, vocab.txt or tokenizer.json; default: the model's")
    gelu: PerModel = _per_model(
        "gelu",
        "form of GELU: auto, erf or tanh; default: the training run's, or auto",
        suggestions=("auto", "erf", "tanh"),
    )
    pooling: PerModel = _per_model(
        "pooling",
        "vectors of /v1/embeddings, as in bert-extract-features; default: as in the modules.json of the model, or mean",
        suggestions=tuple(name for name in POOLINGS if name != NONE),
    )
    layers: PerModel = _per_model(
        "layers", f"layers of these vectors, as in bert-extract-features; default: {LAST_LAYER}"
    )
    normalize: PerModel = _per_model(
        "normalize",
        "scale these vectors to length 1, true or false; default: as in the modules.json of the model, or true",
        suggestions=_BOOLEANS,
        implicit_value="true",
    )
    prompt_name: PerModel = _per_model(
        "prompt_name",
        "prompt of the model before each text, if a request names none; default: the default of the model",
    )


def _read_text_pooling(text: str) -> str:
    """Return a value of --pooling; raise InputError if it gives no vector per text."""
    refuse_if(text == NONE, f"--pooling={text}: gives vectors of tokens, and a text needs one vector; name another")
    return read_pooling(text)


# The flags of bert-extract-features that choose a text's vector, as a server has them.
_VECTOR_FLAGS = ("layers", "pooling", "normalize", "prompt_name")
_OVERRIDES: dict[str, str | dict[str, Any]] = {
    "pooling": {"read": _read_text_pooling, "because": "the pooler reads the last layer"},
    "prompt_name": {"excludes": (), "because": ""},
}
USE_FLAGS = tuple(field.name for field in dataclasses.fields(ModelUse))


@dataclasses.dataclass(frozen=True)
class VectorUseSettings:
    """Flags that choose a text's vector."""

    vectors: Extraction = group(Extraction, _OVERRIDES, only=_VECTOR_FLAGS)


@dataclasses.dataclass(frozen=True)
class FlagsOfModel:
    """The flags of ModelUse for one model, with the types and checks of other commands."""

    encoding: Encoding = group(Encoding)
    model: ModelFiles = group(ModelFiles, only=("vocab_file", "do_lower_case", "gelu"))
    vectors: Extraction = group(Extraction, _OVERRIDES, only=_VECTOR_FLAGS)


@dataclasses.dataclass(frozen=True)
class ModelFlags:
    """Flags for loading a served model.

    Attributes:
        values: values by flag name, for the flags that were given.
        required: names of flags that the model must use, because they are for no other model.
    """

    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    required: frozenset[str] = frozenset()


def read_flags_of(use: ModelUse, name: str, is_only: bool) -> ModelFlags:
    """Return the flags for loading a model; raise InputError for a wrong value.

    Args:
        use: flag values.
        name: the model's name.
        is_only: whether no other model is served.
    """
    texts: dict[str, str] = {}
    required: set[str] = set()
    for flag in USE_FLAGS:
        values = dict(getattr(use, flag))
        if text := values.get(name) or values.get(""):
            texts[flag] = text
            required |= {flag} if is_only or name in values else set()
    flags = {flag.name: flag for flag in every_flag(FlagsOfModel)}
    values = {flag: convert_value(flags[flag], text) for flag, text in texts.items()}
    check_rules(build(FlagsOfModel, values))
    return ModelFlags(values, frozenset(required))
