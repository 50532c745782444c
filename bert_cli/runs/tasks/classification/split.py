"""One file of the data of bert-classify, of whatever kind of problem: its rows, and their features."""

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bert_cli.examples.choice import ChoiceExample, describe_choices
from bert_cli.examples.classification import ClassificationExample, describe_examples
from bert_cli.features.choice import ChoiceFeatures, choice_features, format_choices
from bert_cli.features.classification import (
    ClassificationFeatures,
    classification_features,
    format_cuts,
    format_features,
)
from bert_cli.outputs.classification import text_columns
from bert_cli.outputs.dry_run import Survey
from bert_cli.outputs.eval_examples import shortened
from bert_cli.problem_types.columns import Column
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.runs.tasks.classification.data import Examples
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
    problem_type: ProblemType,
    long_text: str,
) -> Split:
    """Tokenize the rows, and log what they are. long_text: of --long_text, which endings have no use for.

    InputError where max_seq_length is too short for them.
    """
    features: ClassificationFeatures | ChoiceFeatures
    if choices := [each for each in examples if isinstance(each, ChoiceExample)]:
        features, described = choice_features(choices, tokenizer, max_seq_length), describe_choices(choices)
        cut = features.num_truncated
        lines = [f"{cut} of {len(features.sequences)} sequences were cut to {max_seq_length} tokens"] * bool(cut)
    else:
        texts = [each for each in examples if isinstance(each, ClassificationExample)]
        features = classification_features(texts, labels, tokenizer, max_seq_length, problem_type, long_text)
        described, lines = describe_examples(texts, labels), format_cuts(features, max_seq_length)
    LOG.info("%s: %s", name, described)
    for line in lines:
        LOG.info("%s: %s", name, line)
    return Split(examples, features)


def row_text(split: Split, row: int) -> dict[str, Any]:
    """The id and the texts of a row for eval_examples.jsonl, cut to its length."""
    example = split.examples[row]
    named = {"id": split.features.guids[row]}
    if isinstance(example, ChoiceExample):
        return named | {"text": shortened(example.context), "endings": [shortened(each) for each in example.endings]}
    second = {"text_b": shortened(example.text_b)} if example.text_b else {}
    return named | {"text": shortened(example.text_a)} | second


def prediction_texts(examples: Examples, decisions: Sequence[Any]) -> dict[str, Column]:
    """The columns of texts in predictions.tsv; decisions: of a choice, the indices of the endings that were chosen."""
    choices = [each for each in examples if isinstance(each, ChoiceExample)]
    if choices:
        endings = [each.endings[chosen] for each, chosen in zip(choices, decisions, strict=True)]
        return {"text": [each.context for each in choices], "ending": endings}
    return text_columns([(each.text_a, each.text_b) for each in examples if isinstance(each, ClassificationExample)])


def survey_of(split: Split) -> Survey:
    """What --dry_run looks at; the lengths of a choice are those of its sequences, after cutting."""
    labels = [each.label for each in split.examples]
    if isinstance(split.features, ChoiceFeatures):
        choices = [each for each in split.examples if isinstance(each, ChoiceExample)]
        return Survey(
            [(each.context, each.endings) for each in choices], labels, split.features.sequences.lengths, "sequence"
        )
    texts = [each for each in split.examples if isinstance(each, ClassificationExample)]
    special = np.array([3 if each.text_b else 2 for each in texts])
    return Survey([(each.text_a, each.text_b) for each in texts], labels, split.features.text_tokens + special)


def example_lines(split: Split, labels: tuple[str, ...], tokenizer: FullTokenizer, count: int) -> list[str]:
    """The first `count` examples as lines for the log."""
    if isinstance(split.features, ChoiceFeatures):
        return format_choices(split.features, tokenizer, count)
    return format_features(split.features, labels, tokenizer, count)
