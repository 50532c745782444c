"""Probabilities of given words in masked texts, and pseudo-log-likelihoods of whole texts.

A word of several pieces is read from left to right: its probability is the product of each piece's
probability after the pieces before it, while the word's other pieces are masked. A text's
pseudo-log-likelihood is the sum of its tokens' log-probabilities, while each token alone is masked
(Salazar et al., 2020, "Masked Language Model Scoring", section 2).
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import JsonObject
from bert_cli.features.encoded_text import MaskedText, encode_candidate_text, encode_unmasked_text
from bert_cli.features.ragged import take_ranges
from bert_cli.inference.engine import LOGITS, MASKS
from bert_cli.inference.rows import run_sequences
from bert_cli.predicting.mask_filler import (
    PretrainedModel,
    TextMaskFiller,
    candidate_entry,
    fill_mask_record,
    pack_masked_texts,
)
from bert_cli.problem_types.exclusive import log_softmax
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import MASK, UNK

# A text of n tokens makes n sequences of n tokens. More than these tokens would fill the memory.
_TOKENS_TOGETHER = 1 << 18


class Word(NamedTuple):
    """A candidate for a mask, with the ids of its pieces."""

    text: str
    piece_ids: tuple[int, ...]


def read_words(words: Sequence[str], tokenizer: FullTokenizer, place: str = "--candidates") -> list[Word]:
    """Return words with their pieces.

    Args:
        words: words as in running text.
        place: flag or argument, for messages.

    Raises:
        InputError: if a word is empty, occurs twice, or has pieces that are not in the vocabulary.
    """
    by_pieces: dict[tuple[int, ...], str] = {}
    for word in words:
        # "##ing" is a piece, as among the answers for a mask, not two number signs and "ing".
        is_piece = word.startswith("##") and word in tokenizer.ids
        piece_ids = (tokenizer.ids[word],) if is_piece else tuple(tokenizer.encode(word))
        if not piece_ids or tokenizer.ids[UNK] in piece_ids:
            reason = "becomes [UNK], as the vocabulary has no pieces for it" if piece_ids else "has no tokens"
            raise InputError(f"{place}: {word!r} {reason}; leave it out")
        if piece_ids in by_pieces:
            raise InputError(f"{place}: {by_pieces[piece_ids]!r} and {word!r} are the same tokens; leave one out")
        by_pieces[piece_ids] = word
    return [Word(word, piece_ids) for piece_ids, word in by_pieces.items()]


class _Queries:
    """Sequences with one mask each, and the tokens to score at these masks."""

    def __init__(self) -> None:
        self._rows: dict[tuple[tuple[int, ...], tuple[int, ...], int], int] = {}
        self._texts: list[MaskedText] = []
        self._target_rows: list[int] = []
        self._targets: list[int] = []

    def add(self, text: MaskedText, target: int) -> int:
        """Add a token to score at the text's only mask; return the result's index."""
        # A text that itself contains "[SEP]" has the tokens of a pair, but other segments.
        sequence = (tuple(text.token_ids), tuple(text.segment_ids), text.positions[0])
        row = self._rows.setdefault(sequence, len(self._texts))
        if row == len(self._texts):
            self._texts.append(text)
        self._target_rows.append(row)
        self._targets.append(target)
        return len(self._targets) - 1

    def log_probabilities(self, pretrained: PretrainedModel) -> np.ndarray:
        """Return one result per target, float32 [targets]."""
        sequences, positions = pack_masked_texts(self._texts)
        pretrained.check_pairs(sequences)
        # Sort the targets by row, so that a batch finds its own.
        order = np.argsort(self._target_rows, kind="stable")
        counts = np.bincount(self._target_rows, minlength=len(self._texts))
        offsets = np.concatenate([[0], np.cumsum(counts)])
        targets = np.array(self._targets)
        max_tokens = pretrained.batch_size * int(sequences.lengths.max())
        results = np.empty(len(targets), np.float32)
        for rows, outputs in run_sequences(pretrained.engine, sequences, max_tokens, {MASKS: positions}):
            indices = order[take_ranges(offsets, rows)[0]]
            logits_rows = np.repeat(np.arange(len(rows)), counts[rows])
            results[indices] = log_softmax(outputs[LOGITS])[logits_rows, targets[indices]]
        return results


def score_words(
    pretrained: PretrainedModel, tokenizer: FullTokenizer, words: Sequence[Word], chunk: Sequence[MaskedText]
) -> Iterator[JsonObject]:
    """Yield one record per text, with the probability of each word at each mask, best first.

    Args:
        pretrained: the opened model.
        words: the words, see read_words.
        chunk: texts, see encoded_text.encode_candidate_text.

    Raises:
        InputError: if a text with a word of several pieces has more tokens than the model has
            positions.
    """
    # Words of one piece share a sequence, and others have one per piece.
    num_copies = 1 + sum(len(word.piece_ids) for word in words if len(word.piece_ids) > 1)
    _check_lengths(chunk, words, pretrained.num_positions)
    for texts in _groups(chunk, lambda text: num_copies * len(text.positions)):
        yield from _score_words_of(pretrained, tokenizer, words, texts)


def _score_words_of(
    pretrained: PretrainedModel, tokenizer: FullTokenizer, words: Sequence[Word], texts: Sequence[MaskedText]
) -> Iterator[JsonObject]:
    mask_id, queries = tokenizer.ids[MASK], _Queries()
    indices = [
        [[list(_word_queries(queries, text, index, word, mask_id)) for word in words] for index in text.positions]
        for text in texts
    ]
    log_probabilities = queries.log_probabilities(pretrained)
    for text, masks in zip(texts, indices, strict=True):
        entries = []
        for mask in masks:
            values = [sum(map(float, log_probabilities[pieces])) for pieces in mask]
            order = np.argsort(-np.array(values), kind="stable")
            # Six digits, not six places: a word of four pieces often has less than 1e-6.
            entries.append([candidate_entry(words[rank].text, float(f"{np.exp(values[rank]):.6g}")) for rank in order])
        yield fill_mask_record(text.text, entries, None)


def _check_lengths(chunk: Sequence[MaskedText], words: Sequence[Word], num_positions: int) -> None:
    """Raise InputError if a text is too long with the longest word."""
    longest = max(words, key=lambda word: len(word.piece_ids))
    for text in chunk:
        if len(text.token_ids) + len(longest.piece_ids) - 1 > num_positions:
            raise InputError(
                f"{text.place}: is too long for the model, which has {num_positions} positions, "
                f"with {longest.text!r} of {len(longest.piece_ids)} pieces: {text.text[:60]!r}"
            )


def _word_queries(queries: _Queries, text: MaskedText, position: int, word: Word, mask_id: int) -> Iterator[int]:
    """Yield the indices of a word's pieces in the results, from left to right."""
    num_pieces = len(word.piece_ids)
    before, after = text.token_ids[:position], text.token_ids[position + 1 :]
    segment_ids = text.segment_ids[:position] + [text.segment_ids[position]] * num_pieces
    segment_ids += text.segment_ids[position + 1 :]
    for index, piece_id in enumerate(word.piece_ids):
        token_ids = [*before, *word.piece_ids[:index], *[mask_id] * (num_pieces - index), *after]
        yield queries.add(
            text._replace(token_ids=token_ids, segment_ids=segment_ids, positions=[position + index]), piece_id
        )


def score_texts(
    pretrained: PretrainedModel, tokenizer: FullTokenizer, chunk: Sequence[MaskedText]
) -> Iterator[JsonObject]:
    """Yield one record per text, with its pseudo-log-likelihood and its tokens' log-probabilities.

    Args:
        pretrained: the opened model.
        chunk: texts, see encoded_text.encode_unmasked_text.
    """
    for texts in _groups(chunk, lambda text: len(text.token_ids)):
        queries = _Queries()
        indices = [list(_token_queries(queries, text, tokenizer)) for text in texts]
        log_probabilities = queries.log_probabilities(pretrained)
        for text, tokens in zip(texts, indices, strict=True):
            values = [float(log_probabilities[index]) for _, index in tokens]
            names = tokenizer.convert_ids_to_tokens([token_id for token_id, _ in tokens])
            yield {
                "text": text.text,
                "pseudo_log_likelihood": round(sum(values), 6),
                "pseudo_perplexity": float(f"{np.exp(-np.mean(values)):.6g}"),
                "tokens": [
                    {"token": name, "log_probability": round(value, 6)}
                    for name, value in zip(names, values, strict=True)
                ],
            }  # fmt: skip


def _groups(chunk: Sequence[MaskedText], num_copies: Callable[[MaskedText], int]) -> Iterator[list[MaskedText]]:
    """Yield groups of texts with at most _TOKENS_TOGETHER tokens in all masked copies, or one text."""
    group: list[MaskedText] = []
    size = 0
    for text in chunk:
        num_tokens = num_copies(text) * len(text.token_ids)
        if group and size + num_tokens > _TOKENS_TOGETHER:
            yield group
            group, size = [], 0
        group.append(text)
        size += num_tokens
    yield group


def _token_queries(queries: _Queries, text: MaskedText, tokenizer: FullTokenizer) -> Iterator[tuple[int, int]]:
    """Yield each token's id and its result's index, without [CLS] and [SEP]."""
    # Search no ids: a text may itself contain "[SEP]".
    added = {0, len(text.token_ids) - 1} | ({text.segment_ids.index(1) - 1} if text.is_pair else set())
    for position, token_id in enumerate(text.token_ids):
        if position not in added:
            token_ids = [*text.token_ids]
            token_ids[position] = tokenizer.ids[MASK]
            yield token_id, queries.add(text._replace(token_ids=token_ids, positions=[position]), token_id)


def word_records(filler: TextMaskFiller, texts: Sequence[str], candidates: Sequence[str]) -> list[JsonObject]:
    """Return one object per text, as in the JSON lines of `bert-fill-mask --candidates`.

    Args:
        filler: the opened model.
        texts: texts with [MASK].
        candidates: the words.
    """
    tokenizer = filler.model.tokenizer
    words = read_words(candidates, tokenizer)
    return filler.predict(
        texts, encode_candidate_text, functools.partial(score_words, filler.pretrained, tokenizer, words)
    )


def score_records(filler: TextMaskFiller, texts: Sequence[str]) -> list[JsonObject]:
    """Return one object per text, as in the JSON lines of `bert-fill-mask --score`."""
    tokenizer = filler.model.tokenizer
    return filler.predict(texts, encode_unmasked_text, functools.partial(score_texts, filler.pretrained, tokenizer))
