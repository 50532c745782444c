"""Keys in the files of sentence-transformers."""

from bert_cli.base.json_files import KeyTable, Requirement
from bert_cli.base.pooling import CLS, LAST, MAX, MEAN, MEAN_SQRT_LEN, WEIGHTED_MEAN

FOREIGN = "only modules of sentence-transformers for one vector per text can be computed here"
# Keys in a pooling's config -> poolings; concatenation has this order.
LEGACY_MODES = {
    "pooling_mode_cls_token": CLS,
    "pooling_mode_max_tokens": MAX,
    "pooling_mode_mean_tokens": MEAN,
    "pooling_mode_mean_sqrt_len_tokens": MEAN_SQRT_LEN,
    "pooling_mode_weightedmean_tokens": WEIGHTED_MEAN,
    "pooling_mode_lasttoken": LAST,
}
_VECTOR = ("sentence_embedding", None)
_ENDS = {
    "module_input_name": Requirement(_VECTOR, "the input is no vector of a text"),
    "module_output_name": Requirement(_VECTOR, "the output is no vector of a text"),
}
_OPTIONS = (
    "processing_kwargs",
    "model_args",
    "model_kwargs",
    "tokenizer_args",
    "processor_kwargs",
    "config_args",
    "config_kwargs",
)

# An entry of modules.json.
MODULE_KEYS = KeyTable(
    {"type": "the module's class", "path": "the module's directory"},
    dict.fromkeys(("idx", "name"), "the order in the file counts"),
    {"kwargs": Requirement((None, []), "arguments for code of its own")},
    FOREIGN,
)
# sentence_bert_config.json, for the encoder.
ENCODER_KEYS = KeyTable(
    {
        "max_seq_length": "largest number of tokens in a text",
        "do_lower_case": "whether texts are lower-cased before the tokenizer reads them",
    },
    {
        "modality_config": "texts are the only input",
        "unpad_inputs": "speed in other programs, with the same numbers",
    },
    {
        "transformer_task": Requirement(("feature-extraction",), "the encoder has a head"),
        "module_output_name": Requirement(("token_embeddings",), "another output of the encoder"),
        **dict.fromkeys(("query_length", "document_length", "query_expansion"),
                        Requirement((None,), "several vectors per text, or padded texts")),
        **dict.fromkeys(_OPTIONS, Requirement((None, {}), "options of transformers that change its numbers")),
    },
    FOREIGN,
)  # fmt: skip
# config_sentence_transformers.json.
SENTENCE_KEYS = KeyTable(
    {
        "prompts": "texts before each text, by name",
        "default_prompt_name": "the prompt that is used if none is named",
        "truncate_dim": "length of the vectors",
    },
    {
        "__version__": "names and versions",
        "requirements": "names and versions",
        "similarity_fn_name": "comparison of vectors, which other programs do",
    },
    {"model_type": Requirement(("SentenceTransformer",), "no model for one vector per text")},
    FOREIGN,
)
# config.json of 1_Pooling.
POOLING_KEYS = KeyTable(
    {
        **dict.fromkeys(LEGACY_MODES, "whether this pooling is used"),
        "pooling_mode": "the poolings, in releases since 5.2",
        "include_prompt": "whether the prompt's tokens are pooled, too",
        "embedding_dimension": "length of the encoder's vectors",
        "word_embedding_dimension": "the same, of older releases",
    }
)
# config.json of 2_Dense.
DENSE_KEYS = KeyTable(
    {
        "in_features": "length of the vectors before it",
        "out_features": "length of the vectors after it",
        "bias": "whether it has a bias",
        "activation_function": "its activation",
        "use_residual": "whether its input is added to its output",
    },
    {},
    _ENDS,
    FOREIGN,
)
NORMALIZE_KEYS = KeyTable({}, {}, _ENDS, FOREIGN)
