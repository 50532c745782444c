"""Networks that differ from BERT in a few facts, by `model_type` in Hugging Face's config.json."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CHOICE, CLASSIFIER, HEAD_TYPES, NEXT_SENTENCE, REPLACED_TOKENS

# Advice for networks that are not supported.
_ANY_BERT = "take a BERT, such as bert-base-uncased"
_INSTEAD = {
    "xlm-roberta": "take the BERT of 104 languages instead, bert-base-multilingual-cased",
    "roberta": "take bert-base-cased instead, or bert-large-cased",
}
CONFIG_NEEDED = "a bert_config.json is needed"


@dataclasses.dataclass(frozen=True)
class NetworkVariant:
    """The differences between a network and BERT, in its computation and in Hugging Face's files.

    Attributes:
        title: name in messages.
        class_prefix: prefix of its classes in transformers.
        pooler_activation: activation between [CLS] and a text head.
        masked_lm_activation: None if it is the config's hidden_act.
        drops_attention_output: use dropout after the dense layer of attention.
        pooler_is_of_classifier: only transformers classes with a text classifier have a pooler.
        lacks: heads that no class in transformers has.
        classifier_dropout: key in config.json for the classifier's dropout rate.
        keys: key in config.json -> field of BertConfig, if the names differ.
        defaults: fields that config.json may omit.
        constants: fields without a key in config.json.
        additional_keys: keys that config.json needs.
        choice_keys: keys for multiple-choice models, with the only supported values.
    """

    title: str = "BERT"
    class_prefix: str = "Bert"
    pooler_activation: str = "tanh"
    masked_lm_activation: str | None = None
    drops_attention_output: bool = True
    pooler_is_of_classifier: bool = False
    lacks: tuple[str, ...] = (REPLACED_TOKENS,)
    classifier_dropout: str = "classifier_dropout"
    keys: Mapping[str, str] = dataclasses.field(default_factory=dict)
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    constants: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    additional_keys: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    choice_keys: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def architecture(self, head_type: str) -> str:
        """Return the transformers class with a head from HEAD_TYPES."""
        return self.class_prefix + HEAD_TYPES[head_type].architecture

    def needs_pooler(self, head_type: str) -> bool:
        """Return whether the class with this head has a pooler."""
        details = HEAD_TYPES[head_type]
        return details.needs_pooler and (CLASSIFIER in details.heads or not self.pooler_is_of_classifier)

    def has_class(self, head_type: str) -> bool:
        """Return whether transformers has a class with this head."""
        return not set(self.lacks) & set(HEAD_TYPES[head_type].heads)

    def find_unsupported(self, values: Mapping[str, Any]) -> str | None:
        """Return why a config.json is not supported, or None if it is."""
        architectures = values.get("architectures")
        if not isinstance(architectures, list) or self.architecture(CHOICE) not in architectures:
            return None
        for key, supported in self.choice_keys.items():
            value = values.get(key, supported)
            if value != supported:
                head = f"the multiple-choice head of {self.title}"
                return f"{key} {value!r} is not supported: {head} is computed with {supported!r} alone"
        return None


BERT, ELECTRA = "bert", "electra"
NETWORKS = {
    BERT: NetworkVariant(
        defaults={"type_vocab_size": 2},
        constants={"embedding_size": 0},
        additional_keys={"position_embedding_type": "absolute"},
    ),
    # Sanh et al., 2019: a BERT without token types; transformers calls its pooler pre_classifier.
    "distilbert": NetworkVariant(
        title="DistilBERT",
        class_prefix="DistilBert",
        pooler_activation="relu",
        drops_attention_output=False,
        pooler_is_of_classifier=True,
        lacks=(NEXT_SENTENCE, REPLACED_TOKENS),
        classifier_dropout="seq_classif_dropout",
        keys={
            "dim": "hidden_size",
            "n_layers": "num_hidden_layers",
            "n_heads": "num_attention_heads",
            "hidden_dim": "intermediate_size",
            "activation": "hidden_act",
            "dropout": "hidden_dropout_prob",
            "attention_dropout": "attention_probs_dropout_prob",
        },
        defaults={"num_hidden_layers": 6},
        constants={"type_vocab_size": 0, "layer_norm_eps": 1e-12, "embedding_size": 0},
    ),
    # Clark et al., 2020: a BERT with narrower embeddings;
    # its pooler is the text head's dense layer.
    ELECTRA: NetworkVariant(
        title="ELECTRA",
        class_prefix="Electra",
        pooler_activation="gelu_erf",
        masked_lm_activation="gelu_erf",
        pooler_is_of_classifier=True,
        lacks=(NEXT_SENTENCE,),
        defaults={
            "embedding_size": 128,
            "hidden_size": 256,
            "num_attention_heads": 4,
            "intermediate_size": 1024,
            "type_vocab_size": 2,
        },
        # The keys belong to transformers' sequence summary, which only this head uses.
        choice_keys={"summary_type": "first", "summary_use_proj": True, "summary_activation": "gelu"},
    ),
}

# Class in transformers -> key of HEAD_TYPES.
HEAD_TYPES_OF_CLASSES = {
    network.architecture(head_type): head_type
    for network in NETWORKS.values()
    for head_type in HEAD_TYPES
    if network.has_class(head_type)
}


def check_network(path: str, values: Mapping[str, Any]) -> None:
    """Raise InputError for the config of an unsupported network, such as RoBERTa.

    Args:
        path: the config file, for messages.
        values: its contents.
    """
    if str(values.get("model_type", BERT)) not in NETWORKS:
        raise InputError(
            f"{path}: model_type is {values['model_type']!r}, which is another network than BERT "
            f"and cannot be loaded; {_INSTEAD.get(str(values['model_type']), _ANY_BERT)}; "
            "docs/models.md says where to get it"
        )
