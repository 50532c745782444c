"""Comparison of a converted model with its source, by token ids and outputs."""

import dataclasses
import itertools
import os
from collections.abc import Iterator, Sequence

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.formats import quote
from bert_cli.base.head_types import is_token_head
from bert_cli.base.log import LOG, mute_log
from bert_cli.exports.converted import ConvertedModel
from bert_cli.exports.loaded import build_network, random_inputs
from bert_cli.exports.target import FORMATS
from bert_cli.heads.all_heads import BertWithHeads
from bert_cli.model.config import BertConfig
from bert_cli.opening.bundle import AnyModel, ModelBundle
from bert_cli.opening.loader import load_model
from bert_cli.settings.groups import ModelFiles
from bert_cli.text.sample_texts import SPECIAL_TEXTS, make_texts_for_tokenizers
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import CLS, MASK, SEP
from bert_cli.weights.checkpoint import open_source, read_with_heads
from bert_cli.weights.path import find_checkpoint

# Tolerance for another order of sums, for example with a resized embedding table.
_MAX_DIFFERENCE = 1e-4
# Shape of a batch of texts. Longer texts are cut for the outputs, which would take too long.
_ROWS, _TOKENS = 10, 32
TOKEN_IDS = "token_ids"  # name of their difference in the result


def compare_with_source(staged: str, converted: ConvertedModel, random_seed: int) -> dict[str, float]:
    """Compare a written model with its source, and log the largest differences.

    Texts go through both tokenizers, and their token ids and random ones through both models.

    Args:
        staged: directory with the written files.
        converted: the converted model.
        random_seed: seed for the random token ids and for words in the texts.

    Returns:
        The largest absolute difference of each output, and of the token ids if there is a vocabulary.

    Raises:
        InputError: if token ids or outputs differ.
    """
    target = converted.target
    # Find the files like any later command, so that the check includes their names.
    path = find_checkpoint(staged if target.format in ("hf", "hub") else os.path.join(staged, target.name), "to")
    # The source's messages about the tokenizer have been logged.
    with mute_log():
        written = load_model(ModelFiles(), path, None, needs_bert=True, needs_vocab=False, to_convert=True)
    weights = read_with_heads(open_source(path), written.config, converted.heads)
    models = tuple(
        build_network(config, converted.heads, side.tensors, is_token_head(converted.head_type))
        for config, side in ((converted.source.config, converted.weights), (written.config, weights))
    )
    # Skip the pooler's output without weights in a file: the pooler is random then.
    compares_pooler = converted.weights.has_pooler and weights.has_pooler
    batches = [(inputs, inputs) for inputs in [_random_batch(converted.source.config, written.config, random_seed)]]
    differences: dict[str, float] = {}
    if converted.source.optional_vocabulary:
        texts = _compare_tokenizers(converted, written, random_seed)
        differences[TOKEN_IDS] = 0.0
        width = min(_TOKENS, converted.config.max_position_embeddings, converted.source.config.max_position_embeddings)
        batches += _text_batches(texts, (converted.source.tokenizer, written.tokenizer), width)
    else:
        LOG.info("check: there is no vocabulary, so no texts are compared")
    for inputs in batches:
        for name, difference in _output_differences(models, inputs, compares_pooler).items():
            # NumPy's maximum keeps NaN, unlike max().
            differences[name] = float(np.maximum(differences.get(name, 0.0), difference))
    largest = np.max(list(differences.values()))
    LOG.info(
        "check: largest difference %.3g (%s)",
        largest, ", ".join(f"{name} {value:.3g}" for name, value in differences.items()),
    )  # fmt: skip
    # Negate the comparison, so that NaN counts as different. Skip half precision, which is rounded.
    if converted.dtype == "float32" and not largest <= _MAX_DIFFERENCE:
        raise InputError("the converted model gives other outputs than the original; nothing was written")
    return differences


def _compare_tokenizers(converted: ConvertedModel, written: ModelBundle, seed: int) -> list[str]:
    """Return sample texts after a comparison of the ids from both tokenizers.

    Texts with special tokens such as [MASK] may differ: Google's scripts split these tokens, and a
    Hugging Face directory lists them. A line of the log reports this. Raise InputError if the ids of
    other texts differ.
    """
    source = converted.source
    if not written.optional_vocabulary:
        raise InputError("the converted model has no vocabulary; nothing was written")
    texts = make_texts_for_tokenizers(
        source.vocabulary.ids, (source.tokenizer_settings, written.tokenizer_settings), seed
    )
    texts = _without_other_characters(texts, source, written)
    different = [text for text in texts if source.tokenizer.encode(text) != written.tokenizer.encode(text)]
    if different:
        largest = max(_id_difference(source.tokenizer, written.tokenizer, text) for text in different)
        # The shortest text shows the reason best.
        text = min(different, key=len)
        before, after = (" ".join(model.tokenizer.tokenize(text)) for model in (source, written))
        raise InputError(
            f"the converted tokenizer gives other ids for {len(different)} of {len(texts)} texts, by up to {largest}: "
            f"{quote(text)} was {quote(before, 100)} and is {quote(after, 100)}; nothing was written"
        )
    if any(source.tokenizer.encode(text) != written.tokenizer.encode(text) for text in SPECIAL_TEXTS):
        form = "one token" if written.tokenizer.tokenize(MASK) == [MASK] else "split"
        title = FORMATS[converted.target.format].title
        LOG.info(
            "check: special tokens in a text, such as %s, are %s in the %s, unlike in the source", MASK, form, title
        )
    LOG.info("check: both tokenizers give the same ids for %d texts", len(texts))
    return texts


def _without_other_characters(texts: list[str], source: AnyModel, written: AnyModel) -> list[str]:
    """Return the texts with equal ids under both rules for characters, and log if some differ.

    A directory with tokenizer.json has the rules of the library tokenizers, and not Google's.
    """
    rules = written.tokenizer_settings.character_rules
    settings = dataclasses.replace(source.tokenizer_settings, character_rules=rules)
    adapted = FullTokenizer(source.vocabulary, source.do_lower_case, settings=settings)
    kept = [text for text in texts if source.tokenizer.encode(text) == adapted.encode(text)]
    if len(kept) < len(texts):
        LOG.info("check: a capital sigma at the end of a word is as in the rules of %s, unlike in the source", rules)
    return kept


def _id_difference(source: FullTokenizer, converted: FullTokenizer, text: str) -> int:
    """Return the largest difference of the ids at a position; a missing id counts as 0."""
    pairs = itertools.zip_longest(source.encode(text), converted.encode(text), fillvalue=0)
    return max(abs(before - after) for before, after in pairs)


def _random_batch(source: BertConfig, written: BertConfig, seed: int) -> dict[str, np.ndarray]:
    """Return random inputs for both models."""
    # Use the smaller size, because a table may be resized.
    words, positions, types = (
        min(getattr(config, name) for config in (source, written))
        for name in ("vocab_size", "max_position_embeddings", "type_vocab_size")
    )
    return random_inputs(words, positions, types, seed)


def _text_batches(
    texts: Sequence[str], tokenizers: tuple[FullTokenizer, FullTokenizer], width: int
) -> Iterator[tuple[dict[str, np.ndarray], dict[str, np.ndarray]]]:
    """Yield batches of texts, encoded by both tokenizers and cut to `width` tokens."""
    for start in range(0, len(texts), _ROWS):
        batch = texts[start : start + _ROWS]
        first, second = (_encode(tokenizer, batch, width) for tokenizer in tokenizers)
        yield first, second


def _encode(tokenizer: FullTokenizer, texts: Sequence[str], width: int) -> dict[str, np.ndarray]:
    """Return inputs of an encoder, int32 [B, width]."""
    rows = [
        [tokenizer.ids[CLS], *tokenizer.encode(text)[: max(0, width - 2)], tokenizer.ids[SEP]][:width] for text in texts
    ]
    words = np.array([row + [0] * (width - len(row)) for row in rows], np.int32)
    mask = np.array([[1] * len(row) + [0] * (width - len(row)) for row in rows], np.int32)
    return {"input_word_ids": words, "input_mask": mask, "input_type_ids": np.zeros_like(words)}


def _output_differences(
    models: Sequence[BertWithHeads],
    inputs: tuple[dict[str, np.ndarray], dict[str, np.ndarray]],
    compares_pooler: bool,
) -> dict[str, float]:
    """Return the largest absolute difference of each output of two models, each on its own inputs.

    Words that only one model has are not compared.
    """
    first, second = (model(batch) for model, batch in zip(models, inputs, strict=True))
    names = [name for name in first if name in second and (compares_pooler or name != "pooled_output")]
    differences = {}
    for name in names:
        # The shapes of masked_lm_logits differ if the vocabulary was resized.
        count = min(first[name].shape[-1], second[name].shape[-1])
        differences[name] = float(np.abs(first[name].numpy()[..., :count] - second[name].numpy()[..., :count]).max())
    return differences
