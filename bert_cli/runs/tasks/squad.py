"""What is of bert-squad alone: its windows, its head, its answers and scores, its files."""

import contextlib
import json
import logging
import os
import time
from typing import TYPE_CHECKING, Any

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import ANSWERS, EVAL_RESULTS, NBEST_ANSWERS, NULL_ODDS
from bert_cli.examples.squad import (
    SquadExample,
    describe_examples,
    read_examples,
    read_gold_answers,
    read_training_examples,
)
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.squad import SquadFeatures, check_lengths, format_features, squad_features
from bert_cli.features.stream import check_steps
from bert_cli.flags.option import build
from bert_cli.metrics.squad import read_null_odds, read_predictions, scores_v1, scores_v2
from bert_cli.outputs.dry_run import Survey
from bert_cli.outputs.eval_examples import squad_examples
from bert_cli.outputs.eval_results import write_eval_results
from bert_cli.outputs.squad import (
    AnswerRules,
    Decoder,
    Prediction,
    check_rules,
    write_nbest_predictions,
    write_null_odds,
    write_predictions,
)
from bert_cli.runs.engine.onnx_heads import OnnxHead, span_head
from bert_cli.runs.engine.predictor import Predictor
from bert_cli.runs.loading import sources
from bert_cli.runs.loading.checkpoints import trained_checkpoint
from bert_cli.runs.output_dir import lock, run_folder
from bert_cli.runs.tasks.interface import Evaluation, Plan
from bert_cli.settings.squad import Answers, SquadSettings
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.training.hyperparameters import Updates
from bert_cli.weights.path import CheckpointPath, find_checkpoint

if TYPE_CHECKING:
    from bert_cli.heads.model import TaskModel
    from bert_cli.runs.engine.session import Session

LOG = logging.getLogger("bert_cli")
_SHOWN = 20  # questions in the log with --verbose_logging


def answer_rules(answers: Answers, version_2: bool) -> AnswerRules:
    """The flags as the decoder takes them; version_2: a question may have no answer."""
    return AnswerRules(
        n_best_size=answers.n_best_size,
        max_answer_length=answers.max_answer_length,
        version_2_with_negative=version_2,
        null_score_diff_threshold=answers.null_score_diff_threshold,
    )


def check_values(values: dict[str, Any]) -> None:
    """InputError where the values of bert-squad's flags, by name, do not make windows or answers."""
    check_lengths(values["max_seq_length"], values["doc_stride"], values["max_query_length"])
    check_rules(answer_rules(build(SquadSettings, values).answers, values["version_2_with_negative"]))


def trained_model(init_checkpoint: str | None, output_dir: str | None, strict: bool = False) -> CheckpointPath:
    """The trained model of a run that does not train. InputError where neither flag names one."""
    if output_dir:
        return trained_checkpoint(init_checkpoint, output_dir, strict)
    if not init_checkpoint:
        raise InputError("--output_dir or --init_checkpoint is needed: where a model trained by bert-squad stands")
    return find_checkpoint(init_checkpoint, strict=strict)


def score(version_2: bool, gold: dict, answers: dict[str, str], null_odds: dict[str, float] | None) -> dict:
    """Exact match and F1 under the rules of 1.1 or, with --version_2_with_negative, of 2.0."""
    return scores_v2(gold, answers, null_odds) if version_2 else scores_v1(gold, answers)


def score_file(settings: SquadSettings) -> dict:
    """Score predictions_file, print the scores as JSON, and write them where there is an output_dir."""
    scoring, task, folder = settings.scoring, settings.task, settings.phases.output_dir
    for flag, path in (
        ("predict_file", settings.data.predict_file),
        ("predictions_file", scoring.predictions_file),
        ("null_odds_file", scoring.null_odds_file),
    ):
        if path:
            files.check_readable(path, flag)
    if folder:
        files.check_can_write(folder, "output_dir")
        seen = lock.check_free(folder, "one_device")
    odds = read_null_odds(scoring.null_odds_file) if scoring.null_odds_file else None
    gold, answers = read_gold_answers(settings.data.predict_file), read_predictions(scoring.predictions_file)
    scores = score(task.version_2_with_negative, gold, answers, odds)
    if scores["missing"]:
        LOG.warning("warning: %d of %d questions have no prediction", scores["missing"], scores["total"])
    print(json.dumps(scores, indent=2), flush=True)
    if folder:
        with lock.held(folder, "one_device", "bert-squad", seen):
            write_eval_results(os.path.join(folder, EVAL_RESULTS), scores)
    return scores


class SquadTask:
    """See task.Task. After `read`: `windows` to train on or to answer, the `examples` behind them, and `gold` answers."""

    command = "bert-squad"
    files = (ANSWERS, NBEST_ANSWERS, NULL_ODDS)
    evaluation_files = ()

    def __init__(self, settings: SquadSettings):
        self.settings = settings
        self.rules = answer_rules(settings.answers, settings.task.version_2_with_negative)
        self.examples: dict[str, list[SquadExample]] = {}
        self.windows: dict[str, SquadFeatures] = {}
        self.gold: dict = {}
        self._tokenizer: FullTokenizer  # known after `read`
        self._answered: tuple[list[Prediction], float] | None = None

    def open(self, checkpoint: CheckpointPath | None) -> sources.AnyModel:
        settings = self.settings
        return sources.open_model(settings.model, checkpoint, settings.encoding.max_seq_length, settings.hub)

    def read(self, model: sources.AnyModel, stack: contextlib.ExitStack) -> None:
        settings, task, phases = self.settings, self.settings.task, self.settings.phases
        self._tokenizer = model.tokenizer
        if phases.do_train:
            path = settings.data.train_file
            files.check_readable(path, "train_file")
            examples = read_training_examples(path, task.version_2_with_negative, task.multiple_answers).examples
            self._cut("train", examples, is_training=True)
        if settings.inference.do_predict or phases.do_eval:
            files.check_readable(settings.data.predict_file, "predict_file")
            if phases.do_eval:
                self.gold = read_gold_answers(settings.data.predict_file)
                # What cannot be scored is said before the work.
                score(task.version_2_with_negative, self.gold, {}, None)
            self._cut("predict", read_examples(settings.data.predict_file), is_training=False)

    def _cut(self, name: str, examples: list[SquadExample], is_training: bool) -> None:
        """The windows of some examples; the log says what was cut."""
        settings = self.settings
        length, query_length = settings.encoding.max_seq_length, settings.task.max_query_length
        features = squad_features(
            examples, self._tokenizer, length, settings.task.doc_stride, query_length, is_training
        )
        LOG.info("%s: %s in %d windows", name, describe_examples(examples), len(features))
        if features.num_cut_questions:
            LOG.info("%s: %d questions were cut to %d tokens", name, features.num_cut_questions, query_length)
        self.examples[name], self.windows[name] = examples, features

    def sequences(self) -> dict[str, RaggedFeatures]:
        return {name: windows.sequences for name, windows in self.windows.items()}

    def surveys(self) -> dict[str, Survey]:
        found = {}
        for name, windows in self.windows.items():
            examples = self.examples[name]
            texts = [(example.question, example.context) for example in examples]
            found[name] = Survey(
                texts, [example.answer_text for example in examples], windows.sequences.lengths, "window"
            )
        return found

    def show_examples(self, model: sources.AnyModel, count: int) -> None:
        shown = _SHOWN if self.settings.answers.verbose_logging else count
        for name, features in self.windows.items():
            for line in format_features(features, self.examples[name], model.tokenizer, shown):
                LOG.info(line)

    def plan(self, model: sources.AnyModel) -> Plan:
        settings, fine_tuning = self.settings, self.settings.fine_tuning
        windows, lower = self.windows["train"], model.tokenizer.do_lower_case
        by_questions = settings.squad_training.steps_from_examples and len(windows)
        count = len(self.examples["train"]) if by_questions else len(windows)
        steps = check_steps(count, settings.training.train_batch_size, fine_tuning.num_train_epochs)
        sequences = windows.sequences
        data = (sequences.token_ids, sequences.offsets, windows.start_positions, windows.end_positions)
        return Plan(
            steps=steps,
            warmup_steps=int(steps * fine_tuning.warmup_proportion),
            decided={
                "do_lower_case": lower,
                "training_data": run_folder.digest(*data),
                "train_windows": len(windows),
                "train_examples": windows.num_examples,
            },
            found={"do_lower_case": lower},
            bias_correction=fine_tuning.bias_correction,
            examples=len(windows),
        )

    def make_model(self, model: sources.AnyModel, compute_dtype: str) -> "TaskModel":
        from bert_cli.heads.squad import BertSpanModel

        settings = self.settings
        skip, keep = settings.squad_training.skip_padding, settings.answers.keep_padding
        return BertSpanModel(model.config, compute_dtype, settings.seed.random_seed, skip, keep)

    def onnx_head(self, model: sources.AnyModel, flag: str) -> OnnxHead:
        return span_head(self.settings.answers.keep_padding, flag)

    def again(self, settings: SquadSettings) -> "SquadTask":
        return SquadTask(settings)

    @property
    def freezes_encoder(self) -> bool:
        return self.settings.rates.freeze_encoder or not self.settings.hub.hub_trainable

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("f1", "exact" if self.settings.task.version_2_with_negative else "exact_match")

    def train(self, session: "Session", *, updates: Updates, **how: Any) -> dict[str, Any]:
        return session.train(self.windows["train"], updates=updates, **how)

    def facts(self) -> dict[str, Any]:
        return {}

    def _answers(self, session: Predictor) -> tuple[list[Prediction], float]:
        """The answers to all questions, and how many windows there were each second."""
        windows, batch_size = self.windows["predict"], self.settings.inference.predict_batch_size
        decoder = Decoder(windows, self.rules.n_best_size)
        rate = fill(session, decoder, windows, batch_size, "predicting")
        return decoder.finish(self.examples["predict"], self._tokenizer, self.rules), rate

    def evaluate(self, session: Predictor) -> Evaluation:
        """Exact match and F1. `predict` writes the answers of the last evaluation, where there was one."""
        self._answered = predictions, rate = self._answers(session)
        version_2 = self.settings.task.version_2_with_negative
        answers = {prediction.qas_id: prediction.text for prediction in predictions}
        odds = (
            {each.qas_id: each.null_odds for each in predictions if each.null_odds is not None} if version_2 else None
        )
        scores, report = score(version_2, self.gold, answers, odds), {"predict_windows_per_second": rate}
        return Evaluation(scores, [], report, lambda: squad_examples(self.examples["predict"], predictions, self.gold))

    def predict(self, session: Predictor) -> dict[str, Any]:
        """Write the files of the answers, and say for which questions nothing could be one."""
        predictions, rate = self._answered or self._answers(session)
        if session.is_chief:
            self._write(predictions)
        return {"predict_windows_per_second": rate}

    def _write(self, predictions: list[Prediction]) -> None:
        paths = [os.path.join(self.settings.phases.output_dir, name) for name in self.files]
        write_predictions(paths[0], predictions)
        write_nbest_predictions(paths[1], predictions)
        if self.settings.task.version_2_with_negative:
            write_null_odds(paths[2], predictions)
        else:
            files.remove(paths[2])  # odds of an earlier run would not belong to these predictions
        lost = [prediction.qas_id for prediction in predictions if not prediction.found]
        if lost:
            LOG.warning("warning: nothing could be an answer to %d question(s): %s", len(lost), ", ".join(lost[:5]))
        LOG.info("wrote %s and %s: %d predictions", paths[0], paths[1], len(predictions))


def fill(
    session: Predictor, decoder: Decoder, windows: SquadFeatures, batch_size: int, title: str | None = None
) -> float:
    """Give the logits of all windows to their decoder; returns how many windows there were each second.

    title: of the progress, None for none.
    """
    began = time.monotonic()
    for rows, logits in session.over(windows, batch_size, title, unit="windows"):
        decoder.add(rows, logits["start"], logits["end"])
    return round(len(windows) / max(time.monotonic() - began, 1e-9), 2)
