"""The files beside the weights that bert-convert writes: vocabulary, casing, labels, config."""

import dataclasses
import functools
import logging
import os
import re

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import CONFIG, FLAGS, HUGGING_FACE_CONFIG, LABELS, TOKENIZER, TOKENIZER_CONFIG, VOCABULARY
from bert_cli.base.writing import atomic_write, copy_file, write_json, write_lines
from bert_cli.exports.target import Target
from bert_cli.model.config import BertConfig, write_config
from bert_cli.runs.loading.bundle import ModelBundle
from bert_cli.text.tokenizer_json import special_tokens_map, tokenizer_config, tokenizer_json
from bert_cli.text.vocabulary import PAD, PAD_ID, Vocabulary

LOG = logging.getLogger("bert_cli")


def check_words(vocabulary: Vocabulary | None, config: BertConfig, resize_vocab: int | None, target: Target) -> None:
    """Warn where the vocabulary is not the model's; InputError where --resize_vocab would cut its words off."""
    size = resize_vocab or config.vocab_size
    if vocabulary is None:
        more = ", so no tokenizer is written" if target.format == "hf" else ""
        LOG.warning("warning: no vocab.txt beside the checkpoint%s; --vocab_file gives one", more)
    elif resize_vocab and size < vocabulary.size:
        raise InputError(
            f"--resize_vocab={size}: {vocabulary.path} has {vocabulary.size} entries; give at least as many"
        )
    elif vocabulary.size > size:
        LOG.warning(
            "warning: %s has %d entries, but the model knows %d words: ids from %d on will fail; is it the model's own? "
            "--resize_vocab=%d adds rows", vocabulary.path, vocabulary.size, size, size, vocabulary.size,
        )  # fmt: skip
    elif vocabulary.size < size:
        LOG.warning(
            "warning: %s has %d entries, fewer than the model's %d words; is it the model's own?",
            vocabulary.path, vocabulary.size, size,
        )  # fmt: skip


def check_label_names(labels: tuple[str, ...] | None, count: int) -> None:
    """InputError where the names cannot be those of `count` outputs."""
    if labels is None:
        return
    if len(labels) != count:
        raise InputError(
            f"labels.txt or config.json names {len(labels)} labels, but the classifier has {count} outputs"
        )
    for number, label in enumerate(labels):
        if not label or re.search(r"[\r\n]", label) or label in labels[:number]:
            raise InputError(f"label {label!r} (number {number}): names must differ and be one line each")


def write_sidecars(
    staged: str,
    target: Target,
    config: BertConfig,
    model: ModelBundle,
    kind: str | None,
    labels: tuple[str, ...] | None,
    dtype: str,
) -> list[str]:
    """Write all but the weights into `staged`; returns the names. A module's are written with its weights."""
    if target.format == "hub":
        extras = [os.path.join("assets.extra", name) for name in (CONFIG, TOKENIZER_CONFIG)]
        return extras + ([os.path.join("assets", VOCABULARY)] if model.vocabulary else [])
    vocabulary, path = model.vocabulary, functools.partial(os.path.join, staged)
    if target.format == "hf":
        from bert_cli.weights.hugging_face import hugging_face_config

        assert kind is not None, "conversion_plan finds a kind for every Hugging Face folder"
        pad = vocabulary.ids.get(PAD, PAD_ID) if vocabulary else PAD_ID
        values = hugging_face_config(config, kind, labels, pad, dtype, model.problem_type)
        write_json(path(HUGGING_FACE_CONFIG), values)
        if vocabulary:
            write_json(path(TOKENIZER), tokenizer_json(vocabulary, model.do_lower_case))
            write_json(path("special_tokens_map.json"), special_tokens_map(vocabulary))
    else:
        if config.activation.startswith("gelu"):  # the only name that Google's scripts know
            config = dataclasses.replace(config, hidden_act="gelu", gelu=config.activation.removeprefix("gelu_"))
        write_config(path(CONFIG), config)
        if model.saved_flags:
            copy_file(os.path.join(model.folder, FLAGS), path(FLAGS))
    if vocabulary:
        with atomic_write(path(VOCABULARY), "wb") as file:
            file.write(model.vocab_bytes)
        if target.format == "hf" or not model.do_lower_case:
            length = config.max_position_embeddings
            values = tokenizer_config(model.do_lower_case, length, vocabulary)
            write_json(path(TOKENIZER_CONFIG), values)
    if model.labels is not None and labels is not None:
        write_lines(path(LABELS), labels)
    return files.list_directory(staged)
