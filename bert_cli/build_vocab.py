"""Build a vocabulary of word pieces or of whole words from plain text, or extend an existing one.

It writes vocab.txt, one token per line: [PAD] [UNK] [CLS] [SEP] [MASK], all characters of the text, and its most frequent
words and word pieces. It ends with a table, for the first example this one:

    words             245,949
    distinct words        904
    vocabulary            958
    pieces/word         1.000
    unknown words      0.000%
    seconds               4.0    0.1 of them for reading

With --algorithm=words the vocabulary has the special tokens and the most frequent whole words. Any other word becomes
[UNK]; the log counts these words. --vocab_size and --min_count limit the vocabulary.

With --extend, words that the vocabulary splits into pieces or does not know replace [unused0], [unused1], …, beginning
with the words that save the most pieces. All other ids stay, so that the model can use the new vocabulary. With a
--vocab_size above the size of the file, more words are appended, and the model needs as many more rows of word embeddings.

With --extend=OWN_LIST --add_special_tokens, special tokens that your list lacks, such as [UNK], are appended, so that its
ids stay; words of --input_file, if given, follow. Padding always has id 0, as in Google's scripts.

Examples:

    bert-build-vocab --input_file=data/pretraining/corpus.txt --vocab_size=1000 \\
      --output_file=bert_output/corpus_vocab.txt
    bert-build-vocab --input_file=data/pretraining/corpus.txt \\
      --extend=bert_cli/builtin/vocab.txt --output_file=bert_output/extended.txt
"""

import time

from bert_cli.base import files
from bert_cli.base.json_files import JsonObject
from bert_cli.base.lines import find_inputs
from bert_cli.base.log import LOG
from bert_cli.base.writing import write_lines
from bert_cli.flags.command import Command
from bert_cli.flags.option import replace_values
from bert_cli.outputs.preparation import vocabulary_table
from bert_cli.runs.preparation.vocabulary import (
    check_size,
    count_words,
    coverage_figures,
    learn_extended_vocabulary,
    make_vocabulary,
    read_vocabulary_to_extend,
)
from bert_cli.settings.preparation import VOCAB_SIZE, BuildVocabSettings
from bert_cli.settings.texts import CorpusForm
from bert_cli.text.tokenization import BasicTokenizer

_CACHE_SIZE = 1 << 16  # text chunks cached per process


def check(settings: BuildVocabSettings, given_names: frozenset[str]) -> BuildVocabSettings:
    """Return the settings, with a default --vocab_size; raise InputError if it is too small."""
    size = settings.size
    if size.extend:
        return settings
    check_size(size)
    return replace_values(settings, {"vocab_size": size.vocab_size or VOCAB_SIZE})


def run(settings: BuildVocabSettings) -> dict:
    """Build or extend a vocabulary, and return the figures that the table shows."""
    start_seconds = time.monotonic()
    size = settings.size
    output_file = settings.files.output_file
    inputs = find_inputs(settings.files.input_file) if settings.files.input_file else []
    # Refuse to overwrite the vocabulary that is extended: its ids would be lost.
    files.check_output_files([output_file], [*inputs, *([size.extend] if size.extend else [])])
    old_vocabulary = read_vocabulary_to_extend(size) if size.extend else None
    if old_vocabulary and not inputs:
        write_lines(output_file, old_vocabulary.tokens)
        LOG.info("Wrote %s: %d tokens", output_file, old_vocabulary.size)
        return {"vocab_size": old_vocabulary.size}
    tokenizer = BasicTokenizer(size.do_lower_case, _CACHE_SIZE)
    form = CorpusForm.of(settings.columns, settings.data, settings.text_files)
    counts = count_words(inputs, tokenizer, settings.workers.num_workers, form, size.extend)
    reading_seconds = time.monotonic() - start_seconds
    if old_vocabulary:
        tokens = learn_extended_vocabulary(counts, old_vocabulary, size, output_file)
    else:
        tokens = make_vocabulary(counts, tokenizer, size)
    write_lines(output_file, tokens)
    report: JsonObject = {
        "words": sum(count for _, count in counts),
        "distinct_words": len(counts),
    }
    report |= coverage_figures(counts, tokens)
    if old_vocabulary:
        report["before"] = coverage_figures(counts, old_vocabulary.tokens)
    report |= {
        "reading_seconds": round(reading_seconds, 3),
        "total_seconds": round(time.monotonic() - start_seconds, 3),
    }
    for line in vocabulary_table(report):
        LOG.info(line)
    LOG.info("Wrote %s: %d tokens", output_file, len(tokens))
    return report


main = Command("bert-build-vocab", __doc__, BuildVocabSettings, run, check, interrupted="nothing was written")


if __name__ == "__main__":
    raise SystemExit(main())
