"""Keys of a model's config.json and bert_config.json."""

from collections.abc import Mapping
from typing import Any

from bert_cli.base.errors import refuse_if
from bert_cli.base.json_files import KeyTable, Requirement, expect, read_json_object
from bert_cli.base.names import keras_hub_class
from bert_cli.model.networks import CONFIG_NEEDED

# Key -> its effect.
_OBEYED = {
    "vocab_size": "number of rows in the table of words",
    "hidden_size": "width of the network",
    "dim": "DistilBERT's hidden_size",
    "num_hidden_layers": "number of layers",
    "n_layers": "DistilBERT's num_hidden_layers",
    "num_attention_heads": "number of attention heads",
    "n_heads": "DistilBERT's num_attention_heads",
    "intermediate_size": "width of the feed-forward layers",
    "hidden_dim": "DistilBERT's intermediate_size",
    "hidden_act": "activation of the feed-forward layers",
    "activation": "DistilBERT's hidden_act",
    "gelu": "form of `gelu` in hidden_act, a key of bert_cli",
    "hidden_dropout_prob": "dropout in training",
    "dropout": "DistilBERT's hidden_dropout_prob",
    "attention_probs_dropout_prob": "dropout of attention in training",
    "attention_dropout": "DistilBERT's attention_probs_dropout_prob",
    "max_position_embeddings": "largest number of tokens",
    "type_vocab_size": "number of token types",
    "initializer_range": "deviation of new random weights",
    "layer_norm_eps": "epsilon of layer normalization",
    "embedding_size": "width of ELECTRA's embeddings",
    "model_type": "the network; other networks than BERT, DistilBERT and ELECTRA are refused",
    "architectures": "the head, and so the command that fits the model",
    "id2label": "label names in the order of the outputs",
    "problem_type": "the kind of a text classifier",
    "sentence_transformers": "activation of a cross-encoder, which the log names",
    "sbert_ce_default_activation_function": "the same, of older releases",
    "tie_word_embeddings": "if false, the output matrix of a masked LM is compared with the table of words",
    "tokenizer_class": "the tokenizer, if tokenizer_config.json does not name it; other tokenizers than BERT's are refused",
    "hub_module": "the encoder, a module for tensorflow-hub; a key of bert_cli",
}
_TRAINING = "for training in other programs"
_GENERATION = "for the generation of text"
_MEMORY = "speed and memory in other programs, with the same numbers"
_NAMES = "names and versions"
_STORED = "the weights or the vocabulary have it"
# Keys without an effect -> the reason.
_NO_EFFECT = {
    **dict.fromkeys(("classifier_dropout", "seq_classif_dropout", "qa_dropout", "summary_last_dropout"),
                    "dropout before a head: training uses Google's rate, 0.1"),
    **dict.fromkeys(("gradient_checkpointing", "finetuning_task", "label_smoothing", "mlm_probability", "tf_legacy_loss"),
                    _TRAINING),
    **dict.fromkeys(
        ("max_length", "min_length", "do_sample", "early_stopping", "num_beams", "num_beam_groups", "diversity_penalty",
         "temperature", "top_k", "top_p", "typical_p", "repetition_penalty", "length_penalty", "no_repeat_ngram_size",
         "encoder_no_repeat_ngram_size", "bad_words_ids", "num_return_sequences", "output_scores",
         "return_dict_in_generate", "forced_bos_token_id", "forced_eos_token_id", "remove_invalid_values",
         "exponential_decay_length_penalty", "suppress_tokens", "begin_suppress_tokens", "decoder_start_token_id",
         "use_cache", "output_past", "tie_encoder_decoder", "prefix", "task_specific_params",
         "cross_attention_hidden_size"), _GENERATION),
    **dict.fromkeys(
        ("output_attentions", "output_hidden_states", "return_dict", "use_return_dict", "torchscript",
         "chunk_size_feed_forward", "torch_dtype", "dtype", "use_bfloat16", "_attn_implementation",
         "_attn_implementation_autoset", "attn_implementation", "_attn_implementation_internal",
         "_experts_implementation_internal", "unpad_inputs", "use_memory_efficient_attention", "pack_qkv", "xla_device"),
        _MEMORY),
    **dict.fromkeys(("_name_or_path", "name_or_path", "transformers_version", "_commit_hash", "bert_cli_version"), _NAMES),
    **dict.fromkeys(("label2id", "num_labels", "_num_labels"), "id2label and the weights have it"),
    **dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id", "sep_token_id", "cls_token_id", "mask_token_id",
                     "unk_token_id", "sinusoidal_pos_embds"), _STORED),
    **dict.fromkeys(("directionality", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
                     "pooler_size_per_head", "pooler_type"), "Google's scripts do not read it, either"),
    **dict.fromkeys(("summary_type", "summary_use_proj", "summary_activation"),
                    "only ELECTRA's multiple-choice head uses it, for which other values are refused"),
}  # fmt: skip


_REQUIRED = {
    "is_decoder": Requirement((False, None), "a causal network, in which a token sees only the tokens before it"),
    "is_encoder_decoder": Requirement((False, None), "two networks, an encoder and a decoder"),
    "add_cross_attention": Requirement((False, None), "a decoder with attention to another encoder"),
    "position_embedding_type": Requirement(("absolute", None), "other positions than Google's BERT"),
    "pruned_heads": Requirement(({}, None), "layers with fewer attention heads than others"),
    "quantization_config": Requirement((None, {}), "weights in a quantized format"),
    "auto_map": Requirement((None, {}), "code of its own, which is not run"),
    "adapters": Requirement((None, {}), "an adapter of the library adapters between the layers"),
    "adapter_fusion_models": Requirement((None, {}), "adapters of the library adapters between the layers"),
}
CONFIG_KEYS = KeyTable(_OBEYED, _NO_EFFECT, _REQUIRED, "this is not Google's BERT and cannot be computed here")

# Key in `config` of a KerasHub preset's config.json -> fields of BertConfig.
_FIELDS = {
    "vocabulary_size": ("vocab_size",),
    "num_layers": ("num_hidden_layers",),
    "num_heads": ("num_attention_heads",),
    "hidden_dim": ("hidden_size",),
    "intermediate_dim": ("intermediate_size",),
    "dropout": ("hidden_dropout_prob", "attention_probs_dropout_prob"),
    "max_sequence_length": ("max_position_embeddings",),
    "num_segments": ("type_vocab_size",),
}
KERAS_HUB_KEYS = KeyTable(
    {key: f"Google's {' and '.join(fields)}" for key, fields in _FIELDS.items()},
    {"name": "names and versions", "trainable": "for training in other programs", "dtype": "numbers are float32 here"},
)


def read_config_values(path: str) -> dict[str, Any]:
    """Return a config file's contents; a preset of KerasHub has them under Google's keys.

    Raises:
        InputError: if the file is damaged.
    """
    values = read_json_object(path, needed=CONFIG_NEEDED)
    return google_values(path, values) if keras_hub_class(values) else values


def read_backbone_values(path: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `config` of a preset; raise InputError if it is missing or lacks a size.

    Args:
        path: the config.json, for messages.
        values: its contents.
    """
    config: dict[str, Any] = expect(values.get("config"), dict, f"{path}: config", "copy the preset again")
    missing = [key for key in _FIELDS if key not in config]
    refuse_if(missing, f"{path}: config has no {' and no '.join(missing)}; copy the preset again")
    return config


def google_values(path: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a preset's contents under the keys of Google's bert_config.json.

    KerasHub's encoder has the tanh form of GELU and an epsilon of 1e-12, as Google's has. Source: BertBackbone in https://github.com/keras-team/keras-hub.

    Args:
        path, values: see `read_backbone_values`.
    """
    config = read_backbone_values(path, values)
    return {"gelu": "tanh"} | {field: config[key] for key, fields in _FIELDS.items() for field in fields}
