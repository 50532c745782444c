"""What bert-build-vocab does with a text: count its words, learn a vocabulary from them, or extend
one by them.
"""

import functools
import time
from collections.abc import Sequence
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.log import LOG
from bert_cli.corpus import vocabulary as corpus
from bert_cli.corpus import vocabulary_extension as extending
from bert_cli.corpus.text import read_blocks
from bert_cli.corpus.vocabulary import count_block, merge_counts
from bert_cli.corpus.workers import Workers
from bert_cli.runs.loading import checks
from bert_cli.runs.preparation.corpus import reading
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.settings.preparation import VocabularySize
from bert_cli.text.tokenization import BasicTokenizer
from bert_cli.text.vocabulary import SPECIAL, Vocabulary, read_tokens, read_vocabulary, vocabulary_of

# The learner looks at all parts of all different words: 0.1 ms for each word and try, and 0.3 where
# letters are random.
_MAX_WORDS = 200_000
_LOGGED = 20  # words in the log
_NAMED = 3  # words in an error


def count_words(paths: list[str], tokenizer: BasicTokenizer, num_workers: int, encoding: str) -> list[tuple[str, int]]:
    """(word, occurrences), the most frequent first. InputError where there is no word."""
    with Workers(num_workers, tokenizer) as workers, reading(paths) as show:
        counts = merge_counts(workers.map(count_block, read_blocks(paths, encoding=encoding)), show)
    refuse_if(not counts, "nothing to learn from: the input has no word; check --input_file")
    return counts


def build_vocabulary(
    counts: list[tuple[str, int]], tokenizer: BasicTokenizer, first: Sequence[str], vocab_size: int, min_count: int
) -> list[str]:
    """Tokens of a new vocabulary, at most vocab_size of them; `first` come before the tokens of the
    text.
    """
    # All characters of the text come first, so that every word of it can be written.
    characters = corpus.character_pieces(counts, tokenizer)
    LOG.info("learning from %d distinct words", len(counts))

    @functools.cache
    def learner() -> Any:
        """tensorflow-text's learner of word pieces. Imported by its first use: TensorFlow comes
        after all errors.
        """
        setup_tensorflow()
        from tensorflow_text.tools.wordpiece_vocab import wordpiece_tokenizer_learner_lib

        if len(counts) > _MAX_WORDS:
            LOG.info("pieces are learned from the %d most frequent of %d words", _MAX_WORDS, len(counts))
        return wordpiece_tokenizer_learner_lib

    def learn(threshold: int) -> list[str]:
        """Pieces that occur so often, most frequent first."""
        library = learner()
        began = time.monotonic()
        tokens = library.learn(
            counts,
            vocab_size,
            [],
            upper_thresh=threshold,  # one threshold: its own search may end far from vocab_size, or above it
            lower_thresh=threshold,
            max_input_tokens=_MAX_WORDS,
            max_unique_chars=len(characters),  # by default it drops all words with rarer characters than the first 1000
        )
        seconds = time.monotonic() - began
        LOG.info("pieces that occur %d times or more: %d (%.1f seconds)", threshold, len(tokens), seconds)
        return tokens

    tokens = corpus.learn_vocabulary(counts, first, characters, vocab_size, min_count, learn)
    if not set(characters) <= set(tokens):
        LOG.warning(
            "warning: --vocab_size=%d has no room for all characters of the text, so its %d words "
            "are the vocabulary, and any other word is [UNK]; --vocab_size=%d would do",
            vocab_size, len(counts), len({*first, *characters}),
        )  # fmt: skip
    return tokens


def build_word_vocabulary(
    counts: list[tuple[str, int]], first: Sequence[str], vocab_size: int, min_count: int
) -> list[str]:
    """Tokens of a new vocabulary of whole words, at most vocab_size of them; `first` come before
    the words.
    """
    tokens = corpus.frequent_words(counts, first, vocab_size, min_count)
    known = frozenset(tokens)
    covered = [count for word, count in counts if word in known]
    words = len(counts)
    total = sum(count for _, count in counts)
    LOG.info(
        "%s of the %s distinct words have a token (%.1f%%), %s of the %s running words (%.1f%%); "
        "each other word is [UNK]",
        f"{len(covered):,}", f"{words:,}", 100 * len(covered) / words,
        f"{sum(covered):,}", f"{total:,}", 100 * sum(covered) / total,
    )  # fmt: skip
    return tokens


def extend_vocabulary(counts: list[tuple[str, int]], old: Vocabulary, size: VocabularySize) -> list[str]:
    """Return the tokens of `old` with words of the text added.

    Without size.vocab_size, words only replace [unusedN]. Raises InputError if there is no place for
    any new word.
    """
    ranked = extending.rank_words(counts, old.tokens, size.min_count)
    num_unused = extending.count_unused(old.tokens)
    if not num_unused and (size.vocab_size or 0) <= old.size:
        _refuse_new_words(counts, old, ranked, size.add_special_tokens)
    extension = extending.extend_vocabulary(old.tokens, ranked, size.vocab_size or 0, counts)
    LOG.info(
        "%d words are cut into pieces or unknown; %d placed in %d [unusedN], %d added at the end",
        len(ranked), len(extension.placed), num_unused, len(extension.appended),
    )  # fmt: skip
    words = [*extension.placed, *extension.appended]
    if words:
        LOG.info("  %s%s", " ".join(words[:_LOGGED]), " …" if len(words) > _LOGGED else "")
    if extension.appended:
        LOG.warning(
            "warning: the vocabulary is longer by %d: the model needs as many more rows of word embeddings, and "
            '"vocab_size": %d in its bert_config.json',
            len(extension.appended), len(extension.tokens),
        )  # fmt: skip
    return extension.tokens


def _refuse_new_words(
    counts: list[tuple[str, int]], old: Vocabulary, ranked: Sequence[str], adds_special_tokens: bool
) -> None:
    """Raise InputError if a longer vocabulary would get a word of the text."""
    words = extending.extend_vocabulary(old.tokens, ranked, old.size + len(ranked), counts).appended
    if not words:
        return
    new = f"{len(words)} new word{'s' * (len(words) > 1)}"
    examples = " ".join(words[:_NAMED]) + " …" * (len(words) > _NAMED)
    alone = ", or leave out --input_file to add special tokens alone" if adds_special_tokens else ""
    raise InputError(
        f"{old.path}: has no [unusedN] for {new} of the text ({examples}); give --vocab_size above "
        f"its {old.size} to add words at the end{alone}"
    )


def read_extended(size: VocabularySize) -> Vocabulary:
    """Return the vocabulary of --extend, with --add_special_tokens with those that it lacks."""
    path = str(size.extend)
    vocab_size = size.vocab_size
    files.check_readable(path, "extend")
    vocabulary = _with_special_tokens(path) if size.add_special_tokens else read_vocabulary(path)
    checks.check_casing(size.do_lower_case, vocabulary, None)
    if vocab_size is not None and vocab_size < vocabulary.size:
        added = " with the special tokens" if size.add_special_tokens else ""
        raise InputError(
            f"--vocab_size={vocab_size} is below the {vocabulary.size} tokens of {path}{added}; none "
            "is ever removed: give more, or leave it out"
        )
    return vocabulary


def _with_special_tokens(path: str) -> Vocabulary:
    """The vocabulary of a file, and after its last token the special tokens that it lacks."""
    tokens = read_tokens(path)
    missing = [token for token in SPECIAL if token not in tokens]
    if missing:
        ids = ", ".join(f"{token} with id {index}" for index, token in enumerate(missing, start=len(tokens)))
        LOG.info("%s: added at its end: %s", path, ids)
    else:
        LOG.info("%s: has all special tokens", path)
    return vocabulary_of(tokens + missing, path)


def coverage_figures(counts: list[tuple[str, int]], tokens: list[str]) -> dict[str, float]:
    """Size of a vocabulary, and how it writes the text."""
    coverage = corpus.measure_coverage(counts, tokens)
    return {
        "vocab_size": len(tokens),
        "pieces_per_word": coverage.pieces_per_word,
        "unknown_share": coverage.unknown_share,
    }
