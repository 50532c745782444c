"""The networks that differ from BERT in a few facts only, by the model_type of Hugging Face's
config.json.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from bert_cli.base.head_types import CHOICE, CLASSIFIER, HEAD_TYPES, NEXT_SENTENCE, REPLACED_TOKENS


@dataclasses.dataclass(frozen=True)
class Network:
    """What distinguishes a network from BERT, in what it computes and in Hugging Face's files.

    title: its name in messages. pooler_activation: of the dense layer between the last layer's
    [CLS] and a head of texts. masked_lm_activation: None for the config's own.
    drops_attention_output: training has dropout after the dense layer of attention. class_prefix:
    of its classes in transformers. keys: of its config.json -> the field of BertConfig; defaults:
    of fields that config.json leaves out; constants: fields that its config.json has no key for;
    stated: keys that config.json has in addition. choice_keys: keys of a multiple-choice model, with
    the values that our head computes. pooler_is_of_classifier: only classes with a classifier of
    texts have the pooler. lacks: heads that no class has.
    """

    title: str = "BERT"
    class_prefix: str = "Bert"
    pooler_activation: str = "tanh"
    masked_lm_activation: str | None = None
    drops_attention_output: bool = True
    pooler_is_of_classifier: bool = False
    lacks: tuple[str, ...] = (REPLACED_TOKENS,)
    classifier_dropout: str = "classifier_dropout"  # the key of config.json
    keys: Mapping[str, str] = dataclasses.field(default_factory=dict)
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    constants: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    stated: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    choice_keys: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def architecture(self, head_type: str) -> str:
        """The class of transformers with this head; head_type: a key of HEAD_TYPES."""
        return self.class_prefix + HEAD_TYPES[head_type].architecture

    def needs_pooler(self, head_type: str) -> bool:
        """Whether that class has the pooler."""
        kind = HEAD_TYPES[head_type]
        return kind.needs_pooler and (CLASSIFIER in kind.heads or not self.pooler_is_of_classifier)

    def has_class(self, head_type: str) -> bool:
        """Whether transformers has a class with this head."""
        return not set(self.lacks) & set(HEAD_TYPES[head_type].heads)

    def unsupported(self, values: Mapping[str, Any]) -> str | None:
        """What a config.json of this network asks for that we do not compute; None for nothing."""
        named = values.get("architectures")
        if not isinstance(named, list) or self.architecture(CHOICE) not in named:
            return None
        for key, value in self.choice_keys.items():
            found = values.get(key, value)
            if found != value:
                head = f"the multiple-choice head of {self.title}"
                return f"{key} {found!r} is not supported: {head} is computed with {value!r} alone"
        return None


BERT, ELECTRA = "bert", "electra"
NETWORKS = {
    BERT: Network(
        defaults={"type_vocab_size": 2},
        constants={"embedding_size": 0},
        stated={"position_embedding_type": "absolute"},
    ),
    # Sanh et al., 2019: a BERT without token types; its pooler is called pre_classifier.
    "distilbert": Network(
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
    # Clark et al., 2020: a BERT with narrower embeddings; its pooler is the dense layer of the head of
    # texts.
    ELECTRA: Network(
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
        # Of transformers' ElectraSequenceSummary; its other head of texts ignores them.
        choice_keys={"summary_type": "first", "summary_use_proj": True, "summary_activation": "gelu"},
    ),
}

# The classes of transformers -> keys of HEAD_TYPES.
HEAD_TYPES_OF_CLASSES = {
    network.architecture(head_type): head_type
    for network in NETWORKS.values()
    for head_type in HEAD_TYPES
    if network.has_class(head_type)
}
