"""Writer for config and tokenizer files in a Hugging Face directory."""

import os

from bert_cli.base.formats import list_names
from bert_cli.base.log import LOG
from bert_cli.base.names import HUGGING_FACE_CONFIG, SPECIAL_TOKENS, TOKENIZER, TOKENIZER_CONFIG, VOCABULARY
from bert_cli.base.writing import atomic_write, write_json
from bert_cli.model.config import BertConfig
from bert_cli.model.config_files import hugging_face_config
from bert_cli.opening.bundle import ModelBundle
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.text.tokenizer_json import special_tokens_map, tokenizer_config, tokenizer_json
from bert_cli.text.vocabulary import padding_id


def write_model_config(
    folder: str,
    config: BertConfig,
    model: ModelBundle,
    head_type: str,
    labels: tuple[str, ...] | None,
    problem_type: ProblemType | None,
    dtype: str = "float32",
) -> None:
    """Write config.json.

    Args:
        folder: directory to write.
        config: the encoder's config.
        model: the model, for its vocabulary.
        head_type: a key of HEAD_TYPES.
        labels: label names for the classifier; None for another head.
        problem_type: problem type of a text classifier; None if unknown.
        dtype: a key of weights.hugging_face.DTYPES.
    """
    vocabulary = model.optional_vocabulary
    # Use the vocabulary's [PAD]: transformers does not train the row with this id.
    pad = padding_id(vocabulary.ids if vocabulary else {})
    problem_name = problem_type.hugging_face if problem_type else None
    values = hugging_face_config(config, head_type, labels, pad, dtype, problem_name)
    write_json(os.path.join(folder, HUGGING_FACE_CONFIG), values)


def write_tokenizer_files(folder: str, model: ModelBundle, config: BertConfig, max_length: int) -> None:
    """Write vocab.txt, tokenizer.json, tokenizer_config.json and special_tokens_map.json.

    Args:
        folder: directory to write.
        model: a model with a vocabulary.
        config: the encoder's config.
        max_length: number of tokens to which other programs cut texts.
    """
    vocabulary, settings = model.vocabulary, model.tokenizer_settings
    if settings.never_split:
        LOG.warning(
            "warning: transformers 5 passes over never_split and splits these words: %s",
            list_names(settings.never_split),
        )
    with atomic_write(os.path.join(folder, VOCABULARY), "wb") as file:
        file.write(model.vocab_bytes)
    write_json(os.path.join(folder, TOKENIZER), tokenizer_json(vocabulary, model.do_lower_case, settings))
    write_json(os.path.join(folder, SPECIAL_TOKENS), special_tokens_map(vocabulary))
    values = tokenizer_config(model.do_lower_case, max_length, vocabulary, config.network.class_prefix, settings)
    write_json(os.path.join(folder, TOKENIZER_CONFIG), values)
