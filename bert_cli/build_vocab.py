"""Make a WordPiece vocabulary from plain text, or put the words of a domain into an existing one.

    bert-build-vocab --input_file=data/pretraining/corpus.txt --output_file=vocab.txt --vocab_size=1000

writes vocab.txt, one token a line: [PAD] [UNK] [CLS] [SEP] [MASK], all characters of the text, and its most frequent
words and pieces of words. It ends with a table:

    words             245,949
    distinct words        904
    vocabulary            958
    pieces/word         1.000
    unknown words      0.000%
    seconds               4.0    0.1 of them for reading

    bert-build-vocab --input_file=domain.txt --extend=uncased_L-12_H-768_A-12/vocab.txt --output_file=vocab.txt

puts the words that this vocabulary cuts into pieces, or cannot write, into the places of [unused0], [unused1] …, those
first that save the most pieces. All other ids stay, so that the model goes on with it. With a --vocab_size above the
size of the file, more words follow at the end, and the model needs as many more rows of word embeddings.
"""

import dataclasses
import logging
import time

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.writing import atomic_write
from bert_cli.corpus import vocabulary as features
from bert_cli.corpus.text import find_inputs, read_blocks, total_size
from bert_cli.corpus.word_counts import count_block, merge_counts
from bert_cli.corpus.workers import Workers
from bert_cli.outputs.progress import Progress
from bert_cli.outputs.vocabulary import format_table
from bert_cli.runs import sources
from bert_cli.settings.flags import CommandFlags, run_command
from bert_cli.text.tokenization import BasicTokenizer
from bert_cli.text.vocabulary import Vocabulary, read_vocabulary

LOG = logging.getLogger("bert_cli")
_CACHE_SIZE = 1 << 16  # chunks of text that each process remembers
# The learner looks at all parts of all different words: 0.1 ms for each word and try, and 0.3 where letters are random.
_MAX_WORDS = 200_000
_LOGGED = 20  # words in the log


@dataclasses.dataclass(frozen=True)
class Settings:
    """The flags of bert-build-vocab; see define_flags for their meaning. vocab_size None: as many as `extend` has."""

    input_file: str
    output_file: str = "vocab.txt"
    extend: str | None = None
    vocab_size: int | None = 30522
    do_lower_case: bool = True
    reserved_tokens: tuple[str, ...] = ()
    min_count: int = 2
    num_workers: int = 1


def define_flags(flags: CommandFlags) -> None:
    flags.section("Files")
    flags.string(
        "input_file",
        None,
        "text files: names or patterns such as 'text/*.txt' with commas between, - for standard input; gzip is recognized",
    )
    flags.string("output_file", "vocab.txt", "the vocabulary to write")
    flags.string(
        "extend", None, "an existing vocabulary: words go into its [unusedN] places instead of into a new vocabulary"
    )
    flags.section("Vocabulary")
    flags.integer(
        "vocab_size",
        30522,
        "most tokens of the vocabulary; there are fewer where the text is small. With --extend: words are added at the end "
        "up to this size, and none without this flag",
        lower=1,
    )
    flags.boolean("do_lower_case", True, "lower-case the text and strip accents; false for a cased model")
    flags.string(
        "reserved_tokens",
        None,
        f"further tokens, with commas between, that follow {' '.join(features.SPECIAL)}, such as [unused0],[unused1]",
    )
    flags.integer("min_count", 2, "fewest occurrences in the text of a word or piece that gets a token", lower=1)
    flags.section("Work")
    flags.integer("num_workers", 1, "processes that count words", lower=1)


def settings_from_flags(values: dict, given: frozenset[str]) -> Settings:
    """Flags -> Settings, with the checks that need no file."""
    if "input_file" not in given:
        raise InputError("--input_file is needed; --help describes it")
    reserved = tuple(values["reserved_tokens"].split(",")) if values["reserved_tokens"] else ()
    for token in reserved:
        if not token or token != "".join(token.split()):
            raise InputError(f"--reserved_tokens={values['reserved_tokens']}: {token!r} is empty or holds white space")
    if values["extend"]:
        if reserved:
            raise InputError(
                "--reserved_tokens cannot be used with --extend: its tokens stay as they are; leave it out"
            )
        vocab_size = values["vocab_size"] if "vocab_size" in given else None
        return Settings(**values | {"reserved_tokens": (), "vocab_size": vocab_size})
    settings = Settings(**values | {"reserved_tokens": reserved})
    if settings.vocab_size <= len(first_tokens(settings)):
        raise InputError(
            f"--vocab_size={settings.vocab_size} is too small: {len(first_tokens(settings))} special and reserved tokens "
            "come before those of the text"
        )
    return settings


def first_tokens(settings: Settings) -> list[str]:
    """The special tokens, then the reserved ones that are not among them."""
    return list(dict.fromkeys([*features.SPECIAL, *settings.reserved_tokens]))


def count_words(settings: Settings, paths: list[str], tokenizer: BasicTokenizer) -> list[tuple[str, int]]:
    """(word, occurrences), the most frequent first. InputError where there is no word."""
    LOG.info("*** Reading from input files ***")
    for path in paths[:_LOGGED]:
        LOG.info("  %s", path)
    if len(paths) > _LOGGED:
        LOG.info("  … and %d more", len(paths) - _LOGGED)
    with Workers(settings.num_workers, tokenizer) as workers:
        blocks = workers.map(count_block, read_blocks(paths))
        size = total_size(paths)
        if size is None:
            counts = merge_counts(blocks)
        else:
            with Progress("reading", -(-size // 10**6), unit="MB") as progress:

                def show(position: int) -> None:
                    if position // 10**6 > progress.position:
                        progress.update(position // 10**6)

                counts = merge_counts(blocks, show)
    if not counts:
        raise InputError("nothing to learn from: the input has no word; check --input_file")
    return counts


def make_learner(counts: list[tuple[str, int]], characters: list[str], vocab_size: int):
    """The learner of tensorflow-text, as a function: threshold -> pieces that occur so often, most frequent first."""
    from bert_cli.training.host import prepare_host

    prepare_host()
    from tensorflow_text.tools.wordpiece_vocab import wordpiece_tokenizer_learner_lib as library

    if len(counts) > _MAX_WORDS:
        LOG.info("pieces are learnt from the %d most frequent of %d words", _MAX_WORDS, len(counts))

    def learn(threshold: int) -> list[str]:
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

    return learn


def build(settings: Settings, counts: list[tuple[str, int]], tokenizer: BasicTokenizer) -> list[str]:
    """Tokens of a new vocabulary."""
    characters = features.character_pieces(counts, tokenizer)
    first = first_tokens(settings)
    LOG.info("learning from %d distinct words", len(counts))

    def learn(threshold: int) -> list[str]:
        nonlocal learner
        learner = learner or make_learner(counts, characters, settings.vocab_size)  # TensorFlow comes after all errors
        return learner(threshold)

    learner = None
    tokens = features.learn_vocabulary(counts, first, characters, settings.vocab_size, settings.min_count, learn)
    if not set(characters) <= set(tokens):
        LOG.warning(
            "warning: --vocab_size=%d has no room for all characters of the text, so its %d words are the vocabulary, and "
            "any other word is [UNK]; --vocab_size=%d would do",
            settings.vocab_size, len(counts), len({*first, *characters}),
        )  # fmt: skip
    return tokens


def extend(settings: Settings, counts: list[tuple[str, int]], old: Vocabulary) -> list[str]:
    """Tokens of `old` with words of the text added."""
    ranked = features.rank_words(counts, old.tokens, settings.min_count)
    extension = features.extend_vocabulary(old.tokens, ranked, settings.vocab_size or 0, counts)
    LOG.info(
        "%d words are cut into pieces or unknown; %d placed in %d [unusedN], %d added at the end",
        len(ranked), len(extension.placed), features.count_unused(old.tokens), len(extension.appended),
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


def read_extended(settings: Settings) -> Vocabulary:
    """The vocabulary of --extend. InputError where it has no place for a word."""
    files.check_readable(settings.extend, "extend")
    vocabulary = read_vocabulary(settings.extend)
    sources.check_casing(settings.do_lower_case, vocabulary, None)
    if settings.vocab_size is not None and settings.vocab_size < vocabulary.size:
        raise InputError(
            f"--vocab_size={settings.vocab_size} is below the {vocabulary.size} tokens of {settings.extend}; none is ever "
            "removed: give more, or leave it out"
        )
    if not features.count_unused(vocabulary.tokens) and settings.vocab_size in (None, vocabulary.size):
        raise InputError(
            f"{settings.extend}: has no [unusedN] for a new word; give --vocab_size above its {vocabulary.size} to add "
            "words at the end"
        )
    return vocabulary


def run(settings: Settings) -> dict:
    """Do what the settings say; returns the figures of the table."""
    began = time.monotonic()
    inputs = find_inputs(settings.input_file)
    files.check_output_files([settings.output_file], [*inputs, *([settings.extend] if settings.extend else [])])
    old = read_extended(settings) if settings.extend else None
    tokenizer = BasicTokenizer(settings.do_lower_case, _CACHE_SIZE)
    counts = count_words(settings, inputs, tokenizer)
    reading_seconds = time.monotonic() - began
    tokens = extend(settings, counts, old) if old else build(settings, counts, tokenizer)
    with atomic_write(settings.output_file) as file:
        file.writelines(f"{token}\n" for token in tokens)
    report = {"words": sum(count for _, count in counts), "distinct_words": len(counts)} | figures(counts, tokens)
    if old:
        report["before"] = figures(counts, old.tokens)
    report |= {"reading_seconds": round(reading_seconds, 3), "total_seconds": round(time.monotonic() - began, 3)}
    for line in format_table(report):
        LOG.info(line)
    LOG.info("Wrote %s: %d tokens", settings.output_file, len(tokens))
    return report


def figures(counts: list[tuple[str, int]], tokens: list[str]) -> dict:
    """Size of a vocabulary, and how it writes the text."""
    coverage = features.measure_coverage(counts, tokens)
    return {
        "vocab_size": len(tokens),
        "pieces_per_word": coverage.pieces_per_word,
        "unknown_share": coverage.unknown_share,
    }


def main(arguments: list[str] | None = None) -> int:
    """The command; `arguments` default to those of the process. Returns its exit code."""
    return run_command(
        "bert-build-vocab",
        __doc__,
        define_flags,
        lambda values, given: run(settings_from_flags(values, given)),
        arguments,
        interrupted="nothing was written",
    )


if __name__ == "__main__":
    raise SystemExit(main())
