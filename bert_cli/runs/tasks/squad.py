"""The task of bert-squad: its windows, head, answers and scores."""

import contextlib
import functools
import json
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from bert_cli.base import files
from bert_cli.base.head_types import SPANS
from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import LOG
from bert_cli.base.names import EVAL_RESULTS
from bert_cli.base.writing import move_file
from bert_cli.examples.squad.reading import (
    QuestionExamples,
    read_gold_answers,
    read_scored_examples,
    read_squad_examples,
)
from bert_cli.examples.squad.records import describe_questions
from bert_cli.examples.squad.source import QuestionSource
from bert_cli.examples.squad.training import read_training_examples
from bert_cli.features.answer_limits import (
    describe_long_answers,
    describe_missed_answers,
    describe_too_long_answers,
    measure_gold_answers,
)
from bert_cli.features.packing import describe_cuts
from bert_cli.features.squad import SquadFeatures, check_lengths
from bert_cli.inference.engine import FineTunedNetwork
from bert_cli.inference.rows import Predictor
from bert_cli.metrics.bootstrap import Intervals
from bert_cli.metrics.squad import NO_ANSWER, bootstrap_scores, read_null_odds, read_predictions, score
from bert_cli.opening.bundle import AnyModel
from bert_cli.outputs.answers.squad import SquadPrediction, check_search
from bert_cli.outputs.eval_results import write_eval_results
from bert_cli.outputs.squad import squad_examples, write_nbest_predictions, write_null_odds, write_predictions
from bert_cli.predicting.opening import AnswererSettings, select_groups
from bert_cli.predicting.question_answerer import (
    answer_windows,
    answerer_network,
    build_answerer,
    make_question_windows,
)
from bert_cli.problem_types.kinds import QUESTIONS
from bert_cli.reading.columns.facts import DataFacts, log_facts
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.run_directory.manifest import digest
from bert_cli.runs.tasks.interface import BaselineComparison, Evaluation, Plan, Recipe, Task, fine_tuning_plan
from bert_cli.runs.tasks.squad_data import ANSWER_FILES, PREDICT_FILE_KEY, SquadDataset, SquadSplit, backup_answer_names
from bert_cli.runtime.streams import print_text
from bert_cli.settings.squad import SquadSettings
from bert_cli.text.tokenization import FullTokenizer

if TYPE_CHECKING:
    from bert_cli.heads.model import NetworkOptions, TaskModel


def check_answers(settings: SquadSettings) -> SquadSettings:
    """Return the settings; raise InputError if they allow no windows or no answers."""
    check_lengths(settings.encoding.max_seq_length, settings.task.doc_stride, settings.task.max_query_length)
    check_search(settings.answers)
    return settings


def score_file(settings: SquadSettings) -> dict:
    """Score --predictions_file, print the scores as JSON, and write them if --output_dir is given."""
    scoring, task = settings.scoring, settings.task
    directory = RunDirectory(settings.phases.output_dir) if settings.phases.output_dir else None
    for flag, path in (
        ("predict_file", settings.data.predict_file),
        ("predictions_file", scoring.predictions_file),
        ("null_odds_file", scoring.null_odds_file),
    ):
        if path:
            files.check_not_empty(path, flag)
    if directory:
        files.check_can_write(directory.path, "output_dir")
        lock = directory.lock("one_device")
    odds = read_null_odds(scoring.null_odds_file) if scoring.null_odds_file else None
    gold = read_gold_answers(QuestionSource(settings.data.predict_file, settings.text_form))
    answers = read_predictions(scoring.predictions_file)
    scores = score(task.version_2_with_negative, gold, answers, odds)
    if scores["missing"]:
        LOG.warning("warning: %d of %d questions have no prediction", scores["missing"], scores["total"])
    print_text(json.dumps(scores, indent=2))
    if directory:
        with lock.hold(QUESTIONS.command):
            write_eval_results(directory.file(EVAL_RESULTS), scores)
    return scores


class SquadTask(Task[AnyModel, SquadDataset, tuple[list[SquadPrediction], float]]):
    """Task of bert-squad; see interface.Task for its methods."""

    command = QUESTIONS.command

    settings: SquadSettings

    def __init__(self, settings: SquadSettings, sources: Mapping[str, QuestionSource] = MappingProxyType({})):
        """Prepare the task.

        Args:
            sources: questions in memory, by the flag for their file.
        """
        super().__init__(settings)
        self._sources = sources

    def read(self, model: AnyModel, stack: contextlib.ExitStack) -> SquadDataset:
        settings, task, phases = self.settings, self.settings.task, self.settings.phases
        splits: dict[str, SquadSplit] = {}
        accounts: dict[str, DataFacts] = {}
        gold: dict = {}
        if phases.do_train:
            source = self._source("train_file", settings.data.train_file)
            file = read_training_examples(source, task.version_2_with_negative, task.multiple_answers)
            splits["train"] = self._split("train", file, model.tokenizer)
            accounts["train"] = file.facts
            self._warn_about_answers("train", splits["train"].features, splits["train"].features.answer_lengths)
        if settings.inference.do_predict or phases.do_eval:
            source = self._source("predict_file", settings.data.predict_file)
            if phases.do_eval:
                file, gold = read_scored_examples(source)
                # Report data that cannot be scored before training.
                score(task.version_2_with_negative, gold, {}, None)
            else:
                file = read_squad_examples(source)
            splits["predict"] = self._split("predict", file, model.tokenizer)
            accounts["predict"] = file.facts
            if gold:
                limit = min(
                    settings.answers.max_answer_length, settings.encoding.max_seq_length - task.max_query_length - 3
                )
                lengths = measure_gold_answers(gold.values(), model.tokenizer, limit)
                self._warn_about_answers("predict", splits["predict"].features, lengths)
        return SquadDataset(settings, model.tokenizer, splits, gold, accounts)

    def _source(self, flag: str, path: str | None) -> QuestionSource:
        """Return the questions in memory for a flag's file, or the file after a check."""
        if flag in self._sources:
            return self._sources[flag]
        assert path is not None  # a phase needs the flag
        files.check_not_empty(path, flag)
        return QuestionSource(path, self.settings.text_form)

    def _split(self, name: str, file: QuestionExamples, tokenizer: FullTokenizer) -> SquadSplit:
        """Return the examples with their windows, and log the account and the cuts."""
        log_facts(file.facts)
        examples = file.examples
        features = make_question_windows(
            self.settings.encoding, self.settings.task, examples, tokenizer, name == "train"
        )
        LOG.info("%s: %s in %d windows", name, describe_questions(examples), len(features))
        if cut := describe_cuts(features.cuts, self.settings.task.max_query_length, "questions"):
            LOG.info("%s: %s", name, cut)
        return SquadSplit(examples, features)

    def _warn_about_answers(self, split: str, features: SquadFeatures, lengths: np.ndarray) -> None:
        """Log the answers that are too long for the flags; `lengths` are their word pieces."""
        settings = self.settings
        window = settings.encoding.max_seq_length, settings.task.doc_stride
        missed = (
            describe_missed_answers(features, *window)
            if features.is_training
            else describe_too_long_answers(features, lengths, *window)
        )
        for problem in (missed, describe_long_answers(lengths, settings.answers.max_answer_length)):
            if problem:
                LOG.warning("%s: warning: %s", split, problem)

    def plan(self, model: AnyModel, data: SquadDataset, recipe: Recipe) -> Plan:
        split = data.splits["train"]
        windows = split.features
        do_lower_case = model.tokenizer.do_lower_case
        counts_questions = self.settings.squad_training.steps_from_examples and len(windows)
        sequences = windows.sequences
        arrays = (sequences.token_ids, sequences.offsets, windows.start_positions, windows.end_positions)
        deciding_values = {
            "do_lower_case": do_lower_case,
            "training_data": digest(*arrays),
            "train_windows": len(windows),
            "train_examples": windows.num_examples,
        }
        rows = len(split.examples) if counts_questions else len(windows)
        return fine_tuning_plan(
            self.settings,
            recipe,
            rows,
            len(windows),
            deciding_values=deciding_values,
            resolved_flags={"do_lower_case": do_lower_case},
            head_type=SPANS,
        )

    def make_model(self, model: AnyModel, data: SquadDataset, options: "NetworkOptions") -> "TaskModel":
        return build_answerer(model.config, options, self.settings.squad_training.skip_padding)

    def network(self, model: AnyModel, data: SquadDataset) -> FineTunedNetwork:
        return answerer_network(self.settings.answers.keep_padding)

    def _predictions(self, predictor: Predictor, data: SquadDataset) -> tuple[list[SquadPrediction], float]:
        split, settings = data.splits["predict"], select_groups(AnswererSettings, self.settings)
        return answer_windows(settings, predictor, split.examples, split.features, data.tokenizer, "predicting")

    def evaluate(self, predictor: Predictor, data: SquadDataset) -> Evaluation[tuple[list[SquadPrediction], float]]:
        """Evaluate exact match and F1; the `details` are the result of `answer_windows`."""
        predictions, rate = predictions_and_rate = self._predictions(predictor, data)
        version_2 = self.settings.task.version_2_with_negative
        texts = {prediction.qas_id: prediction.text for prediction in predictions}
        odds = {
            prediction.qas_id: prediction.null_odds for prediction in predictions if prediction.null_odds is not None
        }
        scores = score(version_2, data.gold, texts, odds if version_2 else None)
        report: JsonObject = {"predict_windows_per_second": rate}
        examples = functools.partial(squad_examples, data.splits["predict"].examples, predictions, data.gold)
        samples, seed = self.settings.bootstrap.bootstrap, self.settings.seed.random_seed
        intervals = functools.partial(bootstrap_scores, version_2, data.gold, texts, samples, seed)
        return Evaluation(scores, [], report, predictions_and_rate, examples, intervals if samples else Intervals)

    def compare(
        self, data: SquadDataset, evaluation: Evaluation[tuple[list[SquadPrediction], float]]
    ) -> BaselineComparison | None:
        """Compare with no answer to any question, which is right for many questions of SQuAD 2.0."""
        if not self.settings.task.version_2_with_negative:
            return None
        results, (predictions, _) = evaluation.results, evaluation.details
        share = 100.0 * int(results.get("NoAns_total", 0)) / int(results["total"])
        is_varied = int(results.get("HasAns_total", 0)) > 0
        has_answers = any(prediction.text for prediction in predictions)
        collapse = "no question gets an answer" if is_varied and not has_answers else ""
        return BaselineComparison({NO_ANSWER: {"f1": share, "exact": share}}, is_varied, collapse, "")

    def predict(
        self,
        predictor: Predictor,
        data: SquadDataset,
        evaluation: Evaluation[tuple[list[SquadPrediction], float]] | None,
    ) -> JsonObject:
        """Write the answer files, and warn about questions without a possible answer.

        See Task.predict.
        """
        predictions, rate = evaluation.details if evaluation else self._predictions(predictor, data)
        if predictor.is_chief:
            self._write(predictions)
        return {
            "predict_windows_per_second": rate,
            PREDICT_FILE_KEY: os.path.basename(self.settings.data.predict_file or ""),
        }

    def _write(self, predictions: list[SquadPrediction]) -> None:
        """Write the answer files; rename those that answer another --predict_file."""
        directory = RunDirectory(self.settings.phases.output_dir)
        for name, backup_name in backup_answer_names(directory, self.settings.data.predict_file).items():
            move_file(directory.file(name), directory.file(backup_name))
            LOG.info("%s: has the answers to another file, and is kept as %s", directory.file(name), backup_name)
        answers, nbest, null_odds = map(directory.file, ANSWER_FILES)
        write_predictions(answers, predictions)
        write_nbest_predictions(nbest, predictions)
        if self.settings.task.version_2_with_negative:
            write_null_odds(null_odds, predictions)
        else:
            # Null odds from an earlier run would not belong to these predictions.
            files.remove(null_odds)
        unanswered = [prediction.qas_id for prediction in predictions if not prediction.found]
        if unanswered:
            LOG.warning(
                "warning: nothing could be an answer to %d question(s): %s",
                len(unanswered),
                ", ".join(unanswered[:5]),
            )
        LOG.info("wrote %s and %s: %d predictions", answers, nbest, len(predictions))
