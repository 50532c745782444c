"""One file of the data of bert-classify, of whatever kind of problem: its rows, and their features."""

import logging
from typing import NamedTuple

from bert_cli.examples.choice import ChoiceExample, describe_choices
from bert_cli.examples.classification import ClassificationExample, describe_examples
from bert_cli.features.choice import ChoiceFeatures, choice_features, format_choices
from bert_cli.features.classification import ClassificationFeatures, classification_features, format_features
from bert_cli.runs.classification_data import Examples
from bert_cli.text.tokenization import FullTokenizer

LOG = logging.getLogger("bert_cli")


class Split(NamedTuple):
    """One file of the data: its rows, and their features."""

    examples: Examples
    features: ClassificationFeatures | ChoiceFeatures


def make_split(
    name: str,
    examples: Examples,
    labels: tuple[str, ...],
    tokenizer: FullTokenizer,
    max_seq_length: int,
    problem_type: str,
) -> Split:
    """Tokenize the rows, and log what they are. InputError where max_seq_length is too short for them."""
    features: ClassificationFeatures | ChoiceFeatures
    if choices := [each for each in examples if isinstance(each, ChoiceExample)]:
        features, described = choice_features(choices, tokenizer, max_seq_length), describe_choices(choices)
        unit = "sequences"
    else:
        texts = [each for each in examples if isinstance(each, ClassificationExample)]
        features = classification_features(texts, labels, tokenizer, max_seq_length, problem_type)
        described, unit = describe_examples(texts, labels), "examples"
    LOG.info("%s: %s", name, described)
    if cut := features.num_truncated:
        LOG.info("%s: %d of %d %s were cut to %d tokens", name, cut, len(features.sequences), unit, max_seq_length)
    return Split(examples, features)


def example_lines(split: Split, labels: tuple[str, ...], tokenizer: FullTokenizer, count: int) -> list[str]:
    """The first `count` examples as lines for the log."""
    if isinstance(split.features, ChoiceFeatures):
        return format_choices(split.features, tokenizer, count)
    return format_features(split.features, labels, tokenizer, count)
