"""Dataset of bert-squad: questions with their windows, and the names for answer files."""

import dataclasses
import os
from collections.abc import Iterator, Mapping

from bert_cli.base import files
from bert_cli.base.names import ANSWERS, NBEST_ANSWERS, NULL_ODDS
from bert_cli.examples.squad.records import SquadExample
from bert_cli.features.squad import SquadFeatures, format_features
from bert_cli.outputs.dry_run import SplitStatistics
from bert_cli.reading.columns.facts import DataFacts
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.tasks.dataset import InMemoryDataset, InMemorySplit
from bert_cli.settings.squad import SquadSettings
from bert_cli.text.tokenization import FullTokenizer

ANSWER_FILES = (ANSWERS, NBEST_ANSWERS, NULL_ODDS)
PREDICT_FILE_KEY = "predict_file"  # key in run_report.json for the file with the questions
_NUM_SHOWN = 20  # questions in the log with --verbose_logging


def backup_answer_names(directory: RunDirectory, predict_file: str | None) -> dict[str, str]:
    """Return new names for answer files that this run would overwrite, by their present name.

    Only answers to another --predict_file are renamed: predictions.json becomes
    dev.predictions.json if it answers dev.json.

    Args:
        directory: the output directory.
        predict_file: value of --predict_file, or None.
    """
    earlier_file = (directory.report or {}).get(PREDICT_FILE_KEY)
    if not predict_file or not isinstance(earlier_file, str) or earlier_file in ("", os.path.basename(predict_file)):
        return {}
    stem = os.path.splitext(os.path.basename(earlier_file))[0]
    present = [name for name in ANSWER_FILES if files.exists(directory.file(name))]
    return {name: f"{stem}.{name}" for name in present}


@dataclasses.dataclass(frozen=True)
class SquadSplit(InMemorySplit):
    """Questions from one file, and their windows."""

    examples: list[SquadExample]
    features: SquadFeatures

    def statistics(self) -> SplitStatistics:
        texts = [(example.question, example.paragraph.context) for example in self.examples]
        answers = [example.answer_text for example in self.examples]
        return SplitStatistics(texts, answers, self.features.sequences.lengths, "window")


@dataclasses.dataclass(frozen=True)
class SquadDataset(InMemoryDataset):
    """Questions of a run.

    Attributes:
        settings: the run's flags.
        tokenizer: the model's tokenizer.
        splits: "train" and "predict", if the run needs them.
        gold: correct answers for "predict", {} if they are unknown.
        data_facts: the account of each file, by split.
    """

    evaluation_splits = ("predict",)

    settings: SquadSettings
    tokenizer: FullTokenizer
    splits: Mapping[str, SquadSplit] = dataclasses.field(default_factory=dict)
    gold: dict = dataclasses.field(default_factory=dict)
    data_facts: Mapping[str, DataFacts] = dataclasses.field(default_factory=dict)

    @property
    def prediction_files(self) -> tuple[str, ...]:
        return *ANSWER_FILES, *backup_answer_names(
            RunDirectory(self.settings.phases.output_dir), self.settings.data.predict_file
        ).values()

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("f1", "exact" if self.settings.task.version_2_with_negative else "exact_match")

    def example_lines(self, is_verbose: bool) -> Iterator[str]:
        return super().example_lines(is_verbose or self.settings.answers.verbose_logging)

    def _split_lines(self, split: SquadSplit, count: int, has_ids: bool) -> list[str]:
        count = _NUM_SHOWN if self.settings.answers.verbose_logging else count
        return format_features(split.features, split.examples, self.tokenizer, count, has_ids)
