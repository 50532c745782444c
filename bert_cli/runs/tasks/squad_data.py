"""What bert-squad has read: questions with their windows; and the files of its answers."""

import dataclasses
import os
from collections.abc import Iterator, Mapping

from bert_cli.base import files
from bert_cli.base.names import ANSWERS, NBEST_ANSWERS, NULL_ODDS
from bert_cli.examples.squad.records import SquadExample
from bert_cli.features.squad import SquadFeatures, format_features
from bert_cli.outputs.dry_run import SplitStatistics
from bert_cli.runs.output_dir.manifest import read_report
from bert_cli.runs.tasks.dataset import InMemoryDataset, InMemorySplit
from bert_cli.settings.squad import SquadSettings
from bert_cli.text.tokenization import FullTokenizer

ANSWER_FILES = (ANSWERS, NBEST_ANSWERS, NULL_ODDS)
OF_FILE = "predict_file"  # the key of run_report.json that names the file of these questions
_SHOWN = 20  # questions in the log with --verbose_logging


def kept_answers(folder: str, predict_file: str | None) -> dict[str, str]:
    """New names of the answers to another predict_file in a folder, which would be overwritten.

    dev.predictions.json for predictions.json, if that answers the questions of dev.json.
    """
    before = (read_report(folder) or {}).get(OF_FILE)
    if not predict_file or not isinstance(before, str) or before in ("", os.path.basename(predict_file)):
        return {}
    stem = os.path.splitext(os.path.basename(before))[0]
    present = [name for name in ANSWER_FILES if files.exists(os.path.join(folder, name))]
    return {name: f"{stem}.{name}" for name in present}


@dataclasses.dataclass(frozen=True)
class Split(InMemorySplit):
    """The questions of one file, and their windows."""

    examples: list[SquadExample]
    features: SquadFeatures

    def statistics(self) -> SplitStatistics:
        texts = [(example.question, example.paragraph.context) for example in self.examples]
        answers = [example.answer_text for example in self.examples]
        return SplitStatistics(texts, answers, self.features.sequences.lengths, "window")


@dataclasses.dataclass(frozen=True)
class SquadDataset(InMemoryDataset):
    """`splits` to train on ("train") or to answer ("predict"), and `gold` answers of the second."""

    evaluation_splits = ("predict",)

    settings: SquadSettings
    tokenizer: FullTokenizer
    splits: Mapping[str, Split] = dataclasses.field(default_factory=dict)
    gold: dict = dataclasses.field(default_factory=dict)

    @property
    def prediction_files(self) -> tuple[str, ...]:
        return *ANSWER_FILES, *kept_answers(self.settings.phases.output_dir, self.settings.data.predict_file).values()

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("f1", "exact" if self.settings.task.version_2_with_negative else "exact_match")

    def example_lines(self, is_verbose: bool) -> Iterator[str]:
        return super().example_lines(is_verbose or self.settings.answers.verbose_logging)

    def split_lines(self, split: Split, count: int, has_ids: bool) -> list[str]:
        count = _SHOWN if self.settings.answers.verbose_logging else count
        return format_features(split.features, split.examples, self.tokenizer, count, has_ids)
