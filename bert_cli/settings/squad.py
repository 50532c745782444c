"""Flags of bert-squad, for the command and for its models in Python."""

import dataclasses
from typing import ClassVar

from bert_cli.flags.option import FlagGroup, deciding_option, group, option
from bert_cli.settings.answering import WINDOW_LENGTH, AnswerSearch, Squad
from bert_cli.settings.controls import Dropout, HeadInput, LayerRates, Loss, Optimization
from bert_cli.settings.data import DataFiles, TextForm
from bert_cli.settings.devices import Devices
from bert_cli.settings.groups import (
    AT_LEAST,
    OF_INPUT_FILE,
    Encoding,
    Files,
    HubEncoder,
    Inference,
    Log,
    ModelFiles,
    Phases,
    TextFiles,
)
from bert_cli.settings.training import (
    Bootstrap,
    EarlyStoppingFlags,
    FineTuning,
    ReportPage,
    Saving,
    Seed,
    Sweep,
    Training,
    TrainingSettings,
)


class Questions(FlagGroup, heading="Single questions"):
    """A single question to answer with a trained model."""

    question: str = option(
        "", "question about --context or --context_file", needs="context or context_file", python_argument=False
    )
    context: str = option("", "context of --question", needs="question", excludes="context_file", python_argument=False)
    context_file: str = option("", "file with the context of --question", needs="question", python_argument=False)


class Scoring(FlagGroup, heading="Scores of any predictions"):
    """Flags for scoring predictions by any program."""

    score_only: bool = option(
        False,
        "only score predictions_file against predict_file",
        needs=("predictions_file", "predict_file"),
        python_argument=False,
    )
    predictions_file: str = option(
        "", 'predictions to score: {"id": "answer"}', needs="score_only", python_argument=False
    )
    null_odds_file: str | None = option(
        None,
        'SQuAD 2.0: null odds, {"id": number}, higher for no answer; gives the best thresholds',
        needs=("score_only", "version_2_with_negative"),
        python_argument=False,
    )


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
    modes: ClassVar[tuple[str, ...]] = ("do_train or do_predict or do_eval", "question", "input_file", "score_only")

    data: DataFiles = group(
        DataFiles,
        {
            "train_file": "SQuAD file to train on; or a record per question: JSON as Hugging Face has it, or a table "
            "(.csv, .tsv, .xlsx, .parquet, …) with the columns question, context, answer and perhaps answer_start",
            "predict_file": "file like train_file to predict, evaluate or score",
        },
        only=("train_file", "predict_file", "quoting", "sheet"),
    )
    text_files: TextFiles = group(TextFiles)
    task: Squad = group(Squad)
    encoding: Encoding = group(
        Encoding,
        {"max_seq_length": "maximum window length in tokens"},
        only=("max_seq_length",),
        max_seq_length=WINDOW_LENGTH,
    )
    model: ModelFiles = group(ModelFiles)
    hub: HubEncoder = group(HubEncoder)
    phases: Phases = group(
        Phases,
        {
            "do_train": {"help": "train on train_file", "needs": ("train_file", "output_dir")},
            "do_eval": {
                "help": "evaluate on predict_file: exact match and F1",
                "needs": ("predict_file", "output_dir"),
            },
        },
        output_dir="",
    )
    inference: Inference = group(
        Inference,
        {
            "do_predict": {"help": "answer the questions of predict_file", "needs": ("predict_file", "output_dir")},
            "predict_batch_size": f"batch size of the prediction, in windows; {AT_LEAST}",
        },
        only=("do_predict", "predict_batch_size"),
    )
    bootstrap: Bootstrap = group(Bootstrap, {"bootstrap": {"needs": "do_eval"}})
    questions: Questions = group(Questions)
    files: Files = group(
        Files,
        {
            "input_file": 'answer JSON lines {"id", "question", "context"}, - for standard input',
            "output_file": {
                "help": "file for the answers to input_file as JSON lines; default: standard output",
                **OF_INPUT_FILE,
            },
        },
        without=("shard",),
    )
    scoring: Scoring = group(Scoring)
    answers: AnswerSearch = group(AnswerSearch)
    training: Training = group(Training, {"train_batch_size": "training batch size in windows, over all devices"})
    fine_tuning: FineTuning = group(FineTuning)
    squad_training: SpanLoss = group(SpanLoss)
    early_stopping: EarlyStoppingFlags = group(EarlyStoppingFlags)
    page: ReportPage = group(ReportPage)
    rates: LayerRates = group(LayerRates)
    optimization: Optimization = group(Optimization)
    dropout: Dropout = group(Dropout)
    head: HeadInput = group(HeadInput, only=())  # the question-answering head has no dropout
    loss: Loss = group(
        Loss,
        {"label_smoothing": "label smoothing: fraction of start and end spread evenly over all tokens of the window"},
        without=("class_weights",),
    )
    sweep: Sweep = group(Sweep, only=("num_runs",))
    seed: Seed = group(Seed)
    saving: Saving = group(Saving)
    devices: Devices = group(Devices, without=("batch_size",))
    log: Log = group(Log)

    @property
    def text_form(self) -> TextForm:
        """Return the form that table files have."""
        return TextForm(self.text_files.encoding, self.data.quoting, self.data.sheet)
