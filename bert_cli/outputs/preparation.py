"""Log tables and warnings of bert-prepare, bert-build-vocab and bert-create-pretraining-data."""

from collections.abc import Mapping

import numpy as np

from bert_cli.outputs.text_table import text_table
from bert_cli.text.tokenization import FullTokenizer

_WIDTH = 100  # columns per table on any terminal, because logs are read elsewhere
_RANDOM_SHARE = 0.9  # above this share, next-sentence prediction can hardly learn
_UNKNOWN_SHARE = 0.05
_UNMASKED_SHARE = 0.1
_DROPPED_SHARE = 0.5  # up to 0.3 is usual, as a sequence's last sentence seldom fits


def _count_row(report: Mapping, key: str, remark: str = "") -> tuple[str, str, str]:
    """Return the table row for a count, named after its key."""
    return key.replace("_", " "), f"{report[key]:,}", remark


def _seconds(report: Mapping) -> tuple[str, str, str]:
    return "seconds", f"{report['total_seconds']:.1f}", f"{report['reading_seconds']:.1f} of them for reading"


def preparation_table(report: Mapping) -> list[str]:
    """Return the table of bert-prepare.

    Args:
        report: dict with rows (number of rows read), labels ({label: {split: rows}}) and dropped
            ({reason: rows}).
    """
    split_counts = report["labels"]
    rows = [("rows read", f"{report['rows']:,}", "")]
    for split in ("train", "dev", "test"):
        label_counts = ", ".join(
            f"{label} {counts[split]:,}" for label, counts in split_counts.items() if counts[split]
        )
        total = sum(counts[split] for counts in split_counts.values())
        rows += [(f"{split}.tsv", f"{total:,}", label_counts)] if total else []
    rows += [("left out", f"{count:,}", reason) for reason, count in report["dropped"].items()]
    return text_table(rows, "lrl", width=_WIDTH)


def vocabulary_table(report: Mapping) -> list[str]:
    """Return the table of bert-build-vocab, with the old figures if a vocabulary was extended."""
    before = report.get("before")

    def compare(name: str, key: str, form: str) -> tuple[str, str, str]:
        return name, format(report[key], form), f"{before[key]:{form}} before" if before else ""

    rows = [
        _count_row(report, "words"),
        _count_row(report, "distinct_words"),
        compare("vocabulary", "vocab_size", ","),
        compare("pieces/word", "pieces_per_word", ".3f"),
        compare("unknown words", "unknown_share", ".3%"),
        _seconds(report),
    ]
    return text_table(rows, "lrl", width=_WIDTH)


def format_instance(features: Mapping[str, np.ndarray], tokenizer: FullTokenizer) -> list[str]:
    """Return a record as log lines in the original's form, without padding."""
    tokens = int(features["input_mask"].sum())
    predictions = int(features["masked_lm_weights"].sum())
    lengths = dict.fromkeys(("input_ids", "input_mask", "segment_ids"), tokens)
    lengths |= dict.fromkeys(("masked_lm_positions", "masked_lm_ids", "masked_lm_weights"), predictions)
    real = {name: values[: lengths.get(name)].tolist() for name, values in features.items()}
    lines = [
        "*** Example ***",
        f"tokens: {' '.join(tokenizer.convert_ids_to_tokens(real['input_ids']))}",
    ]
    return lines + [f"{name}: {' '.join(map(str, values))}" for name, values in real.items()]


def pretraining_data_shares(report: Mapping) -> dict[str, float]:
    """Return shares between counts in a report, 0…1.

    random_next_share and truncated_share are shares of instances. masked_share is relative to their
    tokens, including special tokens but not padding. dropped_share is relative to their tokens
    before cutting. unknown_share ([UNK]) is relative to all tokens in the corpus.
    """
    counts = {**report, "text_tokens": _text_tokens(report)}
    terms = {
        "random_next_share": ("random_next", "instances"),
        "masked_share": ("predictions", "instance_tokens"),
        "truncated_share": ("truncated_instances", "instances"),
        "dropped_share": ("dropped_tokens", "text_tokens"),
        "unknown_share": ("unknown_tokens", "corpus_tokens"),
    }
    return {
        name: counts[numerator] / counts[denominator] if counts[denominator] else 0.0
        for name, (numerator, denominator) in terms.items()
    }


def _text_tokens(report: Mapping) -> int:
    """Return the tokens of all instances before cutting, without three special tokens per instance."""
    return report["instance_tokens"] - 3 * report["instances"] + report["dropped_tokens"]


def pretraining_table(report: Mapping) -> list[str]:
    """Return the table of bert-create-pretraining-data, with shares next to counts."""
    mean = report["instance_tokens"] / report["instances"]
    truncated = f"{report['truncated_share']:.1%} of the instances, {report['dropped_tokens']:,} tokens dropped"
    rows = [
        _count_row(report, "documents", f"{report['single_sentence_documents']:,} of one sentence"),
        _count_row(report, "sentences"),
        ("tokens", f"{report['corpus_tokens']:,}", f"{report['unknown_share']:.2%} [UNK]"),
        _count_row(report, "instances", f"{mean:.1f} tokens on average"),
        _count_row(report, "random_next", f"{report['random_next_share']:.1%} of the instances"),
        ("masked", f"{report['predictions']:,}", f"{report['masked_share']:.1%} of their tokens"),
        ("truncated", f"{report['truncated_instances']:,}", truncated),
        _seconds(report),
        ("instances/s", f"{report['instances_per_second']:,.0f}", ""),
        ("tokens/s", f"{report['tokens_per_second']:,.0f}", ""),
    ]
    return text_table(rows, "lrl", width=_WIDTH)


def text_warnings(report: Mapping, has_pairs: bool = True) -> list[str]:
    """Return a line for each problem in a text for pre-training.

    Args:
        report: the counts from CorpusSize and count_rows, and their `shares`.
        has_pairs: whether next sentences are predicted.
    """
    documents, single = report["documents"], report["single_sentence_documents"]
    lines = []
    if has_pairs and documents == 1:
        lines.append(
            "the text is one document, so that random next sentences come from the same one; put "
            "blank lines between documents"
        )
    elif has_pairs and single == documents:
        lines.append(
            "every document is one sentence (an empty line after each?), so that every next "
            "sentence is a random one; put one sentence on each line, and blank lines between "
            "documents only"
        )
    elif has_pairs and report["random_next_share"] > _RANDOM_SHARE:
        reason = f"{single:,} of {documents:,} documents are one sentence"
        advice = "put blank lines between documents only"
        if single < documents / 2:
            reason, advice = "lines fill a sequence by themselves", "put one sentence on each line"
        share = f"{report['random_next_share']:.0%}"
        lines.append(f"{share} of the next sentences are random ones: {reason}; {advice}")
    if report["dropped_share"] > _DROPPED_SHARE:
        dropped = report["dropped_tokens"]
        lines.append(
            f"{dropped:,} of {_text_tokens(report):,} tokens ({report['dropped_share']:.1%}) were "
            f"cut off from {report['instances']:,} sequences, as lines are too long for "
            "--max_seq_length; put one sentence on each line, or give a larger --max_seq_length"
        )
    if report.get("unmasked_instances", 0) > _UNMASKED_SHARE * report["instances"]:
        lines.append(
            f"{report['unmasked_instances']:,} of {report['instances']:,} sequences have no masked word, as words are "
            "longer than --max_predictions_per_seq allows; --whole_words_from=spaces needs spaces between words"
        )
    if report.get("inside_predictions") == 0:
        lines.append(
            "--do_whole_word_mask changes nothing, as no masked word has several pieces (##); of "
            "Chinese each character is a word of its own for BERT, unless --whole_words_from=spaces is given for text "
            "that is cut into words"
        )
    return lines


def pretraining_data_warnings(report: Mapping) -> list[str]:
    """Return a line for each problem in the data of bert-create-pretraining-data."""
    lines = text_warnings(report)
    if report["unknown_share"] > _UNKNOWN_SHARE:
        lines.append(
            f"{report['unknown_share']:.0%} of the tokens are [UNK]; check that --vocab_file and "
            "--do_lower_case suit the text"
        )
    return lines
