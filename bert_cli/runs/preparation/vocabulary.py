"""Work of bert-build-vocab: count words, then learn a vocabulary or extend an existing one."""

import functools
import time
from collections.abc import Sequence
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.log import LOG
from bert_cli.corpus import vocabulary as corpus_vocabulary
from bert_cli.corpus import vocabulary_extension
from bert_cli.corpus.lost_marks import find_lost_marks
from bert_cli.corpus.text import TextSource, read_blocks
from bert_cli.corpus.vocabulary import count_block, merge_counts
from bert_cli.corpus.workers import Workers
from bert_cli.opening.vocab_file import check_casing
from bert_cli.runs.preparation.corpus import showing_reading_progress
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.settings.preparation import VOCAB_SIZE, WORDS, VocabularySize
from bert_cli.settings.texts import CorpusForm
from bert_cli.text.tokenization import BasicTokenizer
from bert_cli.text.vocabulary import SPECIAL, Vocabulary, read_tokens, read_vocabulary, vocabulary_of

# The learner examines all substrings of all distinct words. An attempt takes 0.1 ms per word, or
# 0.3 ms for random letters.
_MAX_WORDS = 200_000
_MAX_LOGGED_WORDS = 20
# Limit for error messages.
_MAX_NAMED_WORDS = 3


def check_size(size: VocabularySize) -> None:
    """Raise InputError if a new vocabulary has no space for tokens of the text."""
    vocab_size, num_first = size.vocab_size or VOCAB_SIZE, len(corpus_vocabulary.first_tokens(size.reserved_tokens))
    refuse_if(
        vocab_size <= num_first,
        f"--vocab_size={vocab_size} is too small: {num_first} special and reserved tokens come before the tokens of "
        "the text",
    )


def make_vocabulary(counts: list[tuple[str, int]], tokenizer: BasicTokenizer, size: VocabularySize) -> list[str]:
    """Return the tokens of a new vocabulary of word pieces or words.

    Args:
        counts: words with their counts, most frequent first.
        tokenizer: the tokenizer that split the text into words.
    """
    first_entries = corpus_vocabulary.first_tokens(size.reserved_tokens)
    max_size = size.vocab_size or VOCAB_SIZE
    if size.algorithm == WORDS:
        return build_word_vocabulary(counts, first_entries, max_size, size.min_count)
    return build_vocabulary(counts, tokenizer, first_entries, max_size, size.min_count)


def count_words(
    paths: Sequence[TextSource],
    tokenizer: BasicTokenizer,
    num_workers: int,
    form: CorpusForm,
    extended_path: str | None = None,
) -> list[tuple[str, int]]:
    """Return the words in text files with their counts, most frequent first.

    Words that the tokenizer damages cause a warning.

    Args:
        paths: text files, or texts in memory.
        tokenizer: splits text into words.
        num_workers: number of processes.
        form: column and encoding of the files.
        extended_path: vocabulary to extend with these words; None for a new one.

    Raises:
        InputError: if there is no word.
    """
    with Workers(num_workers, tokenizer) as workers, showing_reading_progress(paths) as show:
        counts, marked = merge_counts(workers.map(count_block, read_blocks(paths, form=form)), show)
    refuse_if(not counts, "nothing to learn from: the input has no word; check --input_file")
    if lost := find_lost_marks(marked, counts):
        num_words = sum(count for _, count in counts)
        extended = f"extend the vocabulary of a cased model instead of {extended_path}, and " if extended_path else ""
        LOG.warning(
            "warning: accents are stripped, and %d of %d words (%.0f%%) %s (%s); %sgive --do_lower_case=false here and "
            "to the commands that use the vocabulary",
            lost.count, num_words, 100 * lost.count / num_words, lost.consequence, "; ".join(lost.examples), extended,
        )  # fmt: skip
    return counts


def build_vocabulary(
    counts: list[tuple[str, int]],
    tokenizer: BasicTokenizer,
    first_tokens: Sequence[str],
    vocab_size: int,
    min_count: int,
) -> list[str]:
    """Learn a vocabulary of word pieces, and return its tokens.

    Args:
        counts: words with their counts, most frequent first.
        tokenizer: the tokenizer that split the text into words.
        first_tokens: tokens at the beginning, such as [PAD].
        vocab_size: maximum number of tokens.
        min_count: minimum count of a token.
    """
    # Include all characters, so that every word in the text can be represented.
    characters = corpus_vocabulary.character_pieces(counts, tokenizer)
    LOG.info("learning from %d distinct words", len(counts))

    @functools.cache
    def load_learner() -> Any:
        """Import tensorflow-text's learner on first use, after all possible errors."""
        setup_tensorflow()
        from tensorflow_text.tools.wordpiece_vocab import wordpiece_tokenizer_learner_lib

        if len(counts) > _MAX_WORDS:
            LOG.info("pieces are learned from the %d most frequent of %d words", _MAX_WORDS, len(counts))
        return wordpiece_tokenizer_learner_lib

    def learn(threshold: int) -> list[str]:
        """Return word pieces with at least this count, most frequent first."""
        library = load_learner()
        start_time = time.monotonic()
        tokens = library.learn(
            counts,
            vocab_size,
            [],
            # Disable the learner's search, which may end far from vocab_size, or above it.
            upper_thresh=threshold,
            lower_thresh=threshold,
            max_input_tokens=_MAX_WORDS,
            # The default drops words with characters beyond the 1000 most frequent ones.
            max_unique_chars=len(characters),
        )
        seconds = time.monotonic() - start_time
        LOG.info("pieces that occur %d times or more: %d (%.1f seconds)", threshold, len(tokens), seconds)
        return tokens

    tokens = corpus_vocabulary.learn_vocabulary(counts, first_tokens, characters, vocab_size, min_count, learn)
    if not set(characters) <= set(tokens):
        LOG.warning(
            "warning: --vocab_size=%d has no room for all characters of the text, so its %d words "
            "are the vocabulary, and any other word is [UNK]; --vocab_size=%d would do",
            vocab_size, len(counts), len({*first_tokens, *characters}),
        )  # fmt: skip
    return tokens


def build_word_vocabulary(
    counts: list[tuple[str, int]], first_tokens: Sequence[str], vocab_size: int, min_count: int
) -> list[str]:
    """Return the tokens of a new vocabulary with whole words.

    Args:
        counts: words with their counts, most frequent first.
        first_tokens: tokens at the beginning, such as [PAD].
        vocab_size: maximum number of tokens.
        min_count: minimum count of a word.
    """
    tokens = corpus_vocabulary.frequent_words(counts, first_tokens, vocab_size, min_count)
    known_words = frozenset(tokens)
    covered_counts = [count for word, count in counts if word in known_words]
    num_words = len(counts)
    total = sum(count for _, count in counts)
    LOG.info(
        "%s of the %s distinct words have a token (%.1f%%), %s of the %s running words (%.1f%%); "
        "each other word is [UNK]",
        f"{len(covered_counts):,}", f"{num_words:,}", 100 * len(covered_counts) / num_words,
        f"{sum(covered_counts):,}", f"{total:,}", 100 * sum(covered_counts) / total,
    )  # fmt: skip
    return tokens


def learn_extended_vocabulary(
    counts: list[tuple[str, int]], vocabulary: Vocabulary, size: VocabularySize, output_file: str
) -> list[str]:
    """Return a vocabulary's tokens with new words from a text.

    Args:
        counts: words with their counts, most frequent first.
        vocabulary: the vocabulary to extend.
        size: flags; without `vocab_size`, words only replace [unusedN] tokens.
        output_file: file for the new vocabulary, for messages.

    Raises:
        InputError: if there is no space for any new word.
    """
    ranked = vocabulary_extension.rank_words(counts, vocabulary.tokens, size.min_count)
    num_unused = vocabulary_extension.count_unused(vocabulary.tokens)
    if not num_unused and (size.vocab_size or 0) <= vocabulary.size:
        _refuse_new_words(counts, vocabulary, ranked, size.add_special_tokens)
    extension = vocabulary_extension.extend_vocabulary(vocabulary.tokens, ranked, size.vocab_size or 0, counts)
    LOG.info(
        "%d words are cut into pieces or unknown; %d placed in %d [unusedN], %d added at the end",
        len(ranked), len(extension.placed), num_unused, len(extension.appended),
    )  # fmt: skip
    words = [*extension.placed, *extension.appended]
    if words:
        LOG.info("  %s%s", " ".join(words[:_MAX_LOGGED_WORDS]), " …" if len(words) > _MAX_LOGGED_WORDS else "")
    if extension.appended:
        LOG.warning(
            "warning: the vocabulary is longer by %d: the model needs as many more rows of word embeddings; bert-convert "
            "--from=MODEL --vocab_file=%s --resize_vocab=%d --to=LARGER_MODEL adds them",
            len(extension.appended), output_file, len(extension.tokens),
        )  # fmt: skip
    return extension.tokens


def _refuse_new_words(
    counts: list[tuple[str, int]], vocabulary: Vocabulary, ranked: Sequence[str], adds_special_tokens: bool
) -> None:
    """Raise InputError if a longer vocabulary would get new words."""
    words = vocabulary_extension.extend_vocabulary(
        vocabulary.tokens, ranked, vocabulary.size + len(ranked), counts
    ).appended
    if not words:
        return
    new_words = f"{len(words)} new {'words' if len(words) > 1 else 'word'}"
    examples = " ".join(words[:_MAX_NAMED_WORDS]) + (" …" if len(words) > _MAX_NAMED_WORDS else "")
    alternative = ", or leave out --input_file to add special tokens alone" if adds_special_tokens else ""
    raise InputError(
        f"{vocabulary.path}: has no [unusedN] for {new_words} of the text ({examples}); give --vocab_size above "
        f"its {vocabulary.size} to add words at the end{alternative}"
    )


def read_vocabulary_to_extend(size: VocabularySize) -> Vocabulary:
    """Return the vocabulary for --extend; --add_special_tokens adds missing special tokens."""
    path = str(size.extend)
    vocab_size = size.vocab_size
    files.check_readable(path, "extend")
    vocabulary = _with_special_tokens(path) if size.add_special_tokens else read_vocabulary(path)
    check_casing(size.do_lower_case, vocabulary, None)
    if vocab_size is not None and vocab_size < vocabulary.size:
        added = " with the special tokens" if size.add_special_tokens else ""
        raise InputError(
            f"--vocab_size={vocab_size} is below the {vocabulary.size} tokens of {path}{added}; none "
            "is ever removed: give more, or leave it out"
        )
    return vocabulary


def _with_special_tokens(path: str) -> Vocabulary:
    """Return the vocabulary in a file, with missing special tokens at the end."""
    tokens = read_tokens(path)
    missing = [token for token in SPECIAL if token not in tokens]
    if missing:
        ids = ", ".join(f"{token} with id {index}" for index, token in enumerate(missing, start=len(tokens)))
        LOG.info("%s: added at its end: %s", path, ids)
    else:
        LOG.info("%s: has all special tokens", path)
    return vocabulary_of(tokens + missing, path)


def coverage_figures(counts: list[tuple[str, int]], tokens: list[str]) -> dict[str, float]:
    """Return a vocabulary's size and its coverage of the text, for the report."""
    coverage = corpus_vocabulary.measure_coverage(counts, tokens)
    return {
        "vocab_size": len(tokens),
        "pieces_per_word": coverage.pieces_per_word,
        "unknown_share": coverage.unknown_share,
    }
