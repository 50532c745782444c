"""Flags of bert-squad, for the command and for its models in Python."""

import dataclasses
from typing import ClassVar

from bert_cli.flags.option import FlagGroup, deciding_option, group, option
from bert_cli.settings.controls import Head, Loss
from bert_cli.settings.data import DataFiles
from bert_cli.settings.groups import AT_LEAST, Encoding, Files, Hub, Inference, ModelFiles, Phases
from bert_cli.settings.training import FineTuning, Sweep, Training, TrainingSettings

MULTIPLE_ANSWERS = ("first", "all")


class Squad(FlagGroup, heading="Data"):
    """Data of bert-squad, and the windows that contexts are cut into."""

    version_2_with_negative: bool = deciding_option(False, "SQuAD 2.0: some questions have no answer", remembered=True)
    multiple_answers: str | None = option(
        None,
        "training answers with several spans: take the first, or train on all; default: an error",
        choices=MULTIPLE_ANSWERS,
    )
    max_query_length: int = deciding_option(
        64, "maximum question length in tokens; longer questions are truncated", remembered=True
    )
    doc_stride: int = deciding_option(128, "stride of the windows in tokens, from start to start", remembered=True)


class Questions(FlagGroup, heading="Single questions"):
    """A single question to answer with a trained model."""

    question: str = option("", "question about --context or --context_file")
    context: str = option("", "context of --question")
    context_file: str = option("", "file with the context of --question")


class Scoring(FlagGroup, heading="Scores of any predictions"):
    """Flags for scoring predictions by any program."""

    score_only: bool = option(False, "only score predictions_file against predict_file")
    predictions_file: str = option("", 'predictions to score: {"id": "answer"}')
    null_odds_file: str | None = option(
        None,
        'SQuAD 2.0: null odds, {"id": number}, higher for no answer; gives the best thresholds',
    )


class AnswerSearch(FlagGroup, heading="Answers"):
    """Flags for finding answers in the logits of windows."""

    n_best_size: int = option(20, "number of start and end candidates in a window, and of answers in an n-best list")
    max_answer_length: int = option(30, "maximum answer length in tokens")
    null_score_diff_threshold: float = option(0.0, "null odds above which the question has no answer")
    keep_padding: bool = option(
        False,
        "compute padding in prediction, slower, so that the n-best lists of short texts are equal to Google's",
    )
    verbose_logging: bool = option(False, "log the windows of 20 questions of each file, with their ids")


class SpanLoss(FlagGroup, heading="Training"):
    """Differences between our loss and the one in Google's script."""

    steps_from_examples: bool = deciding_option(
        False, "count steps from questions, not windows, as Google's script does"
    )
    skip_padding: bool = deciding_option(
        False, "exclude padding from the loss, faster for short texts; Google's loss includes it"
    )


@dataclasses.dataclass(frozen=True)
class SquadSettings(TrainingSettings):
    """Flags of bert-squad."""

    essential: ClassVar[tuple[str, ...]] = (
        "train_file", "predict_file", "version_2_with_negative", "max_seq_length", "doc_stride",
        "init_checkpoint", "do_train", "do_eval", "do_predict", "output_dir", "overwrite_output_dir",
        "dry_run", "question", "context", "input_file", "null_score_diff_threshold", "train_batch_size",
        "learning_rate", "num_train_epochs", "skip_padding", "random_seed",
    )  # fmt: skip

    data: DataFiles = group(
        DataFiles,
        {
            "train_file": "SQuAD file to train on",
            "predict_file": "SQuAD file to predict, evaluate or score",
        },
        only=("train_file", "predict_file"),
    )
    task: Squad = group(Squad)
    encoding: Encoding = group(
        Encoding,
        {"max_seq_length": "maximum window length in tokens"},
        only=("max_seq_length",),
        after="max_query_length",
        max_seq_length=384,
    )
    model: ModelFiles = group(ModelFiles)
    hub: Hub = group(Hub)
    head: Head = group(Head, only=())  # the question-answering head has no dropout
    phases: Phases = group(
        Phases,
        {
            "do_train": "train on train_file",
            "do_eval": "evaluate on predict_file: exact match and F1",
        },
        output_dir="",
    )
    inference: Inference = group(
        Inference,
        {
            "do_predict": "answer the questions of predict_file",
            "predict_batch_size": f"batch size of the prediction, in windows; {AT_LEAST}",
        },
        only=("do_predict", "predict_batch_size"),
    )
    questions: Questions = group(Questions)
    files: Files = group(
        Files,
        {
            "input_file": 'answer JSON lines {"id", "question", "context"}, - for standard input',
            "output_file": "file for the answers to input_file as JSON lines; default: standard output",
        },
        without=("shard",),
    )
    scoring: Scoring = group(Scoring)
    answers: AnswerSearch = group(AnswerSearch)
    training: Training = group(Training, {"train_batch_size": "training batch size in windows, over all devices"})
    fine_tuning: FineTuning = group(FineTuning)
    squad_training: SpanLoss = group(SpanLoss)
    loss: Loss = group(
        Loss,
        {"label_smoothing": "label smoothing: fraction of start and end spread evenly over all tokens of the window"},
        without=("class_weights",),
    )
    sweep: Sweep = group(Sweep, only=("num_runs",))
