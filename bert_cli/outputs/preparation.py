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
    """Shares of the counts in a report, 0…1: random_next_share of the instances, masked_share of
    their tokens (special tokens counted, padding not), truncated_share of the instances,
    unknown_share ([UNK]) of the tokens of the corpus.
    """
    parts = {
        "random_next_share": ("random_next", "instances"),
        "masked_share": ("predictions", "instance_tokens"),
        "truncated_share": ("truncated_instances", "instances"),
        "unknown_share": ("unknown_tokens", "corpus_tokens"),
    }
    return {name: report[part] / report[whole] if report[whole] else 0.0 for name, (part, whole) in parts.items()}


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


def warnings(report: Mapping) -> list[str]:
    """What is odd about the data, one line each."""
    found = []
    if report["documents"] == 1:
        found.append(
            "the text is one document, so that random next sentences come from the same one; put "
            "blank lines between documents"
        )
    elif report["single_sentence_documents"] == report["documents"]:
        found.append(
            "every document is one sentence (an empty line after each?), so that every next "
            "sentence is a random one; put blank lines between documents only"
        )
    elif report["random_next_share"] > _RANDOM_SHARE:
        found.append(
            f"{report['random_next_share']:.0%} of the next sentences are random ones: "
            f"{report['single_sentence_documents']:,} of {report['documents']:,} documents are one "
            "sentence; put blank lines between documents only"
        )
    if report["unknown_share"] > _UNKNOWN_SHARE:
        found.append(
            f"{report['unknown_share']:.0%} of the tokens are [UNK]; check that --vocab_file and "
            "--do_lower_case suit the text"
        )
    return found
