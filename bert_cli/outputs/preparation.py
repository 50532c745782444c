"""What bert-prepare, bert-build-vocab and bert-create-pretraining-data log about their work:
figures and warnings.
"""

from collections.abc import Mapping

import numpy as np

from bert_cli.outputs.text_table import text_table
from bert_cli.text.tokenization import FullTokenizer

_WIDTH = 100  # columns of a table, whatever the width of the terminal: a log is read elsewhere
_RANDOM_SHARE = 0.9  # above this, next-sentence prediction can hardly learn
_UNKNOWN_SHARE = 0.05
_DROPPED_SHARE = 0.5  # usual: up to 0.3, as the last sentence of a sequence seldom fits


def _counted(report: Mapping, key: str, about: str = "") -> tuple[str, str, str]:
    """The row of a count, which is named like its key."""
    return key.replace("_", " "), f"{report[key]:,}", about


def _seconds(report: Mapping) -> tuple[str, str, str]:
    return "seconds", f"{report['total_seconds']:.1f}", f"{report['reading_seconds']:.1f} of them for reading"


def preparation_table(report: Mapping) -> list[str]:
    """The table of bert-prepare. rows: read from the file. labels: {label: {split: rows}}. dropped:
    {reason: rows}.
    """
    planned = report["labels"]
    rows = [("rows read", f"{report['rows']:,}", "")]
    for split in ("train", "dev", "test"):
        parts = ", ".join(f"{label} {each[split]:,}" for label, each in planned.items() if each[split])
        total = sum(each[split] for each in planned.values())
        rows += [(f"{split}.tsv", f"{total:,}", parts)] if total else []
    rows += [("left out", f"{count:,}", reason) for reason, count in report["dropped"].items()]
    return text_table(rows, "lrl", width=_WIDTH)


def vocabulary_table(report: Mapping) -> list[str]:
    """The table of bert-build-vocab; where a vocabulary was extended, with the figures of the old
    one next to it.
    """
    before = report.get("before")

    def compared(name: str, key: str, form: str) -> tuple[str, str, str]:
        return name, format(report[key], form), f"{before[key]:{form}} before" if before else ""

    rows = [
        _counted(report, "words"),
        _counted(report, "distinct_words"),
        compared("vocabulary", "vocab_size", ","),
        compared("pieces/word", "pieces_per_word", ".3f"),
        compared("unknown words", "unknown_share", ".3%"),
        _seconds(report),
    ]
    return text_table(rows, "lrl", width=_WIDTH)


def format_instance(features: Mapping[str, np.ndarray], tokenizer: FullTokenizer) -> list[str]:
    """One record as lines for the log, in the form of the original, without padding."""
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


def shares(report: Mapping) -> dict[str, float]:
    """Return shares of the counts in a report, 0…1.

    random_next_share and truncated_share are of the instances, masked_share of their tokens (special
    tokens counted, padding not), dropped_share of the tokens that they would have uncut, and
    unknown_share ([UNK]) of the tokens of the corpus.
    """
    counts = {**report, "text_tokens": _text_tokens(report)}
    parts = {
        "random_next_share": ("random_next", "instances"),
        "masked_share": ("predictions", "instance_tokens"),
        "truncated_share": ("truncated_instances", "instances"),
        "dropped_share": ("dropped_tokens", "text_tokens"),
        "unknown_share": ("unknown_tokens", "corpus_tokens"),
    }
    return {name: counts[part] / counts[whole] if counts[whole] else 0.0 for name, (part, whole) in parts.items()}


def _text_tokens(report: Mapping) -> int:
    """Return the tokens of all instances before they were cut, without the three special tokens of each."""
    return report["instance_tokens"] - 3 * report["instances"] + report["dropped_tokens"]


def pretraining_table(report: Mapping) -> list[str]:
    """The table of bert-create-pretraining-data, with counts next to fractions."""
    mean = report["instance_tokens"] / report["instances"]
    truncated = f"{report['truncated_share']:.1%} of the instances, {report['dropped_tokens']:,} tokens dropped"
    rows = [
        _counted(report, "documents", f"{report['single_sentence_documents']:,} of one sentence"),
        _counted(report, "sentences"),
        ("tokens", f"{report['corpus_tokens']:,}", f"{report['unknown_share']:.2%} [UNK]"),
        _counted(report, "instances", f"{mean:.1f} tokens on average"),
        _counted(report, "random_next", f"{report['random_next_share']:.1%} of the instances"),
        ("masked", f"{report['predictions']:,}", f"{report['masked_share']:.1%} of their tokens"),
        ("truncated", f"{report['truncated_instances']:,}", truncated),
        _seconds(report),
        ("instances/s", f"{report['instances_per_second']:,.0f}", ""),
        ("tokens/s", f"{report['tokens_per_second']:,.0f}", ""),
    ]
    return text_table(rows, "lrl", width=_WIDTH)


def text_warnings(report: Mapping, has_pairs: bool = True) -> list[str]:
    """Return what is odd about a text to pre-train on, one line each.

    Args:
        report: the counts of a CorpusSize and of count_rows, and `shares` of them.
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
    if report.get("inside_predictions") == 0:
        lines.append(
            "--do_whole_word_mask changes nothing, as no masked word has several pieces (##); of "
            "Chinese each character is a word of its own for BERT"
        )
    return lines


def warnings(report: Mapping) -> list[str]:
    """Return what is odd about the data of bert-create-pretraining-data, one line each."""
    lines = text_warnings(report)
    if report["unknown_share"] > _UNKNOWN_SHARE:
        lines.append(
            f"{report['unknown_share']:.0%} of the tokens are [UNK]; check that --vocab_file and "
            "--do_lower_case suit the text"
        )
    return lines
