"""A split of the data with its features, and the labels and thresholds that predictions for it are read with."""

import dataclasses
import logging
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import THRESHOLDS
from bert_cli.examples.choice import ChoiceExample, describe_choices
from bert_cli.examples.classification import ClassificationExample, describe_examples
from bert_cli.features.choice import ChoiceFeatures, choice_features, format_choices
from bert_cli.features.classification import (
    ClassificationFeatures,
    classification_features,
    format_cuts,
    format_features,
)
from bert_cli.metrics import multi_label
from bert_cli.outputs.classification import text_columns, write_glue_submission, write_table, write_test_results
from bert_cli.outputs.dry_run import Survey
from bert_cli.outputs.eval_examples import shortened
from bert_cli.problem_types.columns import Column
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.problem_type import Found, LabelSet, ProblemType
from bert_cli.runs.tasks.classification.data import Examples
from bert_cli.settings.groups import TUNED, Encoding, Inference
from bert_cli.text.tokenization import FullTokenizer

LOG = logging.getLogger("bert_cli")


class Split(NamedTuple):
    """One file of the data: its rows, all of them texts or all of them choices, and their features."""

    examples: Examples
    features: ClassificationFeatures | ChoiceFeatures

    @property
    def choices(self) -> list[ChoiceExample]:
        """The rows of multiple choice, [] for texts."""
        # A split has one type of rows only; isinstance lets mypy know which.
        return [each for each in self.examples if isinstance(each, ChoiceExample)]

    @property
    def texts(self) -> list[ClassificationExample]:
        """The rows that are texts or pairs of texts, [] for choices."""
        return [each for each in self.examples if isinstance(each, ClassificationExample)]

    def row_text(self, row: int) -> dict[str, Any]:
        """The id and the texts of a row for eval_examples.jsonl, cut to its length."""
        example, named = self.examples[row], {"id": self.features.guids[row]}
        if isinstance(example, ChoiceExample):
            endings = [shortened(each) for each in example.endings]
            return named | {"text": shortened(example.context), "endings": endings}
        second = {"text_b": shortened(example.text_b)} if example.text_b else {}
        return named | {"text": shortened(example.text_a)} | second

    def text_columns(self, decisions: Sequence[Any]) -> dict[str, Column]:
        """The columns of texts in predictions.tsv; decisions: of a choice, the indices of the endings that were chosen."""
        if choices := self.choices:
            endings = [each.endings[chosen] for each, chosen in zip(choices, decisions, strict=True)]
            return {"text": [each.context for each in choices], "ending": endings}
        return text_columns([(each.text_a, each.text_b) for each in self.texts])

    def survey(self) -> Survey:
        """The rows for --dry_run."""
        labels, sequences = [each.label for each in self.examples], self.features.sequences
        if isinstance(self.features, ChoiceFeatures):
            # Endings are cut to the length of a sequence while they are tokenized, so the lengths are those after cutting.
            return Survey(
                [(each.context, each.endings) for each in self.choices], labels, sequences.lengths, "sequence"
            )
        pairs = [(each.text_a, each.text_b) for each in self.texts]
        special = np.array([3 if text_b else 2 for _, text_b in pairs])  # [CLS], and [SEP] after each text
        return Survey(pairs, labels, self.features.text_tokens + special)

    def lines(self, labels: tuple[str, ...], tokenizer: FullTokenizer, count: int) -> list[str]:
        """The first `count` examples as lines for the log."""
        if isinstance(self.features, ChoiceFeatures):
            return format_choices(self.features, tokenizer, count)
        return format_features(self.features, labels, tokenizer, count)


def make_split(
    name: str,
    examples: Examples,
    labels: tuple[str, ...],
    tokenizer: FullTokenizer,
    problem_type: ProblemType,
    encoding: Encoding,
) -> Split:
    """Tokenize the rows, and log how many there are and what was cut.

    InputError where --max_seq_length is too short for them.
    """
    features: ClassificationFeatures | ChoiceFeatures
    length = encoding.max_seq_length
    if choices := [each for each in examples if isinstance(each, ChoiceExample)]:
        features, described = choice_features(choices, tokenizer, length), describe_choices(choices)
        cut = features.num_truncated
        lines = [f"{cut} of {len(features.sequences)} sequences were cut to {length} tokens"] * bool(cut)
    else:
        texts = [each for each in examples if isinstance(each, ClassificationExample)]
        features = classification_features(texts, labels, tokenizer, length, problem_type, encoding.long_text)
        described, lines = describe_examples(texts, labels), format_cuts(features, length)
    for line in (described, *lines):
        LOG.info("%s: %s", name, line)
    return Split(examples, features)


@dataclasses.dataclass(frozen=True)
class Answers:
    """The labels that a model's predictions are read with. tunes: an evaluation finds the thresholds, see `tuned`."""

    problem_type: ProblemType
    labels: LabelSet
    tunes: bool = False

    def tuned(self, label_ids: np.ndarray, found: Found) -> "Answers":
        """With the thresholds that are best on these predictions, where they are to be tuned."""
        if not self.tunes:
            return self
        thresholds = multi_label.tune_thresholds(label_ids, found["probabilities"])
        return dataclasses.replace(self, labels=self.labels._replace(thresholds=thresholds))

    def write_thresholds(self, folder: str) -> None:
        """Write thresholds.json, where the thresholds were tuned."""
        if self.tunes and self.labels.thresholds is not None:
            multi_label.write_thresholds(os.path.join(folder, THRESHOLDS), self.labels.names, self.labels.thresholds)


def make_answers(
    problem_type: ProblemType, names: tuple[str, ...], settings: Inference, tunes: bool, folders: Sequence[str]
) -> Answers:
    """The labels `names` with the thresholds of --threshold.

    tunes: an evaluation comes first, which finds the thresholds of --threshold=tuned. Without one they are read from the
    first of `folders` that has a thresholds.json; InputError where none has, and for thresholds of another problem type.
    """
    if not problem_type.has_thresholds:
        if not settings.is_default_threshold:
            raise InputError(
                f"--threshold={settings.threshold}: is about labels that do not exclude each other "
                f"(--problem_type={MULTI_LABEL.name}), here it is {problem_type.name}; leave it out"
            )
        return Answers(problem_type, LabelSet(names))
    is_tuned = settings.threshold == TUNED
    # A run that only predicts: an earlier evaluation has left the thresholds.
    if is_tuned and not tunes:
        return Answers(problem_type, LabelSet(names, _read_tuned(names, folders)))
    threshold = multi_label.DEFAULT_THRESHOLD if is_tuned else float(settings.threshold)
    return Answers(problem_type, LabelSet(names, np.full(len(names), threshold)), is_tuned)


def _read_tuned(names: tuple[str, ...], folders: Sequence[str]) -> np.ndarray:
    paths = [os.path.join(folder, THRESHOLDS) for folder in folders]
    path = next((path for path in paths if files.exists(path)), None)
    if path is None:
        raise InputError(
            f"--threshold={TUNED}: there is no {THRESHOLDS}{f' in {folders[0]}' if folders else ''}; add --do_eval, which "
            "finds the thresholds"
        )
    return multi_label.read_thresholds(path, names)


def write_predictions(
    paths: Sequence[str], split: Split, found: dict[str, Any], answers: Answers, output_format: str
) -> None:
    """Write the files of ClassificationDataset.names to these paths; found: the model's predictions for the split."""
    problem_type, labels = answers.problem_type, answers.labels
    decisions = problem_type.decisions(found, labels)
    write_test_results(paths[0], found[problem_type.output_name])
    columns = {"id": split.features.guids, **problem_type.prediction_columns(found, labels)}
    write_table(paths[1], columns | split.text_columns(decisions), output_format)
    LOG.info("wrote %s and %s: %d predictions", *paths[:2], len(split.examples))
    # The leaderboard wants the ids of the test file, not the guids of the original.
    for path in paths[2:]:
        write_glue_submission(path, [example.identifier for example in split.examples], decisions)
        LOG.info("wrote %s", path)
