"""Flags of bert-classify, for the command and for its models in Python."""

import dataclasses
import re
from typing import ClassVar

from bert_cli.base import files
from bert_cli.base.errors import refuse_if
from bert_cli.base.formats import parse_number
from bert_cli.flags.option import FlagGroup, deciding_option, group, option
from bert_cli.settings.answering import SUBMITTED, Classification
from bert_cli.settings.controls import Dropout, HeadInput, LayerRates, Loss, Optimization
from bert_cli.settings.data import (
    TEXT_COLUMNS,
    Choices,
    Columns,
    DataFiles,
    DevSplit,
    KeptColumns,
    LabelKind,
    MissingLabels,
    RowColumns,
    TextForm,
)
from bert_cli.settings.devices import Devices
from bert_cli.settings.groups import (
    OF_INPUT_FILE,
    Encoding,
    Files,
    HubEncoder,
    Inference,
    Log,
    ModelFiles,
    NewText,
    Phases,
    TextFiles,
)
from bert_cli.settings.training import (
    Averaging,
    Bootstrap,
    EarlyStoppingFlags,
    FineTuning,
    ReportPage,
    Saving,
    Seed,
    Sweep,
    Training,
    TrainingSample,
    TrainingSettings,
)

FINE_TUNING, LINEAR_PROBE, CONTRASTIVE = "fine_tuning", "linear_probe", "contrastive"  # values of --method
# Flags about losses, heads and outputs that only gradient descent on the labels has.
_OF_FINE_TUNING = (
    "distill_from", "soft_labels", "long_text=windows", "head_input", "loss=focal", "label_smoothing",
    "classifier_dropout", "eval_every", "dry_run", "choice_columns", "freeze_encoder", "hub_trainable=false",
)  # fmt: skip
_OF_GRADIENTS = (
    "learning_rate", "num_train_epochs", "warmup_proportion", "optimizer", "weight_decay", "lr_schedule",
    "gradient_accumulation_steps", "auto_batch", "recompute=layers", "lora_rank", "freeze_layers", "layerwise_lr_decay",
    "hidden_dropout_prob", "attention_dropout_prob", "bias_correction",
)  # fmt: skip
# For BERT-Base this is a learning rate of 2e-5, as in SetFit.
_CONTRASTIVE_RATE = 0.4


class TrainingMethod(FlagGroup, heading="Training"):
    """Flag for what is trained, for data with few rows."""

    method: str = deciding_option(
        FINE_TUNING,
        f"{FINE_TUNING}: train encoder and head on the labels; for few rows, {LINEAR_PROBE}: fit the head alone, by a "
        f"logistic regression on the mean of each text's last hidden states; {CONTRASTIVE}: first train the encoder so "
        "that texts with the same label have similar means",
        choices=(FINE_TUNING, LINEAR_PROBE, CONTRASTIVE),
        needs={f"={LINEAR_PROBE}|{CONTRASTIVE}": "do_train"},
        excludes={
            f"={LINEAR_PROBE}|{CONTRASTIVE}": _OF_FINE_TUNING,
            f"={LINEAR_PROBE}": _OF_GRADIENTS,
            f"={CONTRASTIVE}": ("weight_column", "class_weights!=none", "gradient_accumulation_steps", "auto_batch"),
        },
        because="this method has a loss of its own, and a logistic regression fits its head",
    )

    @property
    def rate_factor(self) -> float | None:
        """Return the share of the usual learning rate, None for a method without updates."""
        return {LINEAR_PROBE: None, CONTRASTIVE: _CONTRASTIVE_RATE}.get(self.method, 1.0)

    @property
    def fits_head(self) -> bool:
        """Return whether a logistic regression fits the head after the last step."""
        return self.method != FINE_TUNING


class Distillation(FlagGroup, heading="Training"):
    """Flags for training a classifier on another one's probabilities (Hinton et al., 2015)."""

    distill_from: str = option(
        "",
        "distillation: directory of a trained classifier with the same labels, the teacher, or its name hf:OWNER/NAME",
        path=True,
        needs="do_train",
    )
    unlabeled_file: str = option(
        "",
        "distillation: unlabelled texts for --distill_from, one per line or a table",
        path=True,
        needs="distill_from",
    )
    distill_temperature: float = deciding_option(
        2.0, "distillation temperature of --distill_from", above=0.0, needs="distill_from"
    )
    distill_share: float = deciding_option(
        0.5,
        "weight of the distillation loss; the rest is the loss of the labels",
        lower=0.0,
        upper=1.0,
        needs="distill_from",
    )


def read_abstain_error(text: str) -> str:
    """Return the text of --abstain_error; raise InputError unless it is a share such as 2% or 0.02."""
    refuse_if(
        not 0 < parse_share(text) < 1, f"--abstain_error={text}: a share of wrong answers is needed, such as 2% or 0.02"
    )
    return text


def parse_share(text: str) -> float:
    """Return 0.02 for 2% or 0.02; NaN if the text is not a number."""
    return parse_number(text.removesuffix("%")) / (100 if text.endswith("%") else 1)


class CalibrationFlags(FlagGroup, heading="Mode"):
    """Flags for calibrated probabilities, and for abstaining from uncertain answers."""

    calibrate: bool = option(
        False,
        "calibrate the probabilities; with --do_eval on the dev set, with --cross_validation on the out-of-fold "
        "predictions; fits a temperature, of multi-label models one per label, and writes "
        "calibration.json, which every later prediction and export applies",
        needs="do_eval or cross_validation",
        because="it is measured on held-out data",
    )
    abstain_error: str = option(
        "",
        "most wrong answers, such as 2% or 0.02, for --calibrate to choose which texts are left "
        "for people; the error among the others stays below it on fresh data, with 95 % confidence",
        read=read_abstain_error,
        suggestions=("1%", "2%", "5%"),
        needs="calibrate",
        because="its probabilities rank the texts",
    )

    @property
    def max_error_rate(self) -> float | None:
        """Return --abstain_error as a number, or None if it is not given."""
        return parse_share(self.abstain_error) if self.abstain_error else None


DOUBT_NAMES = ("margin", "entropy")  # values of --to_label
DISAGREEMENT = "disagreement"  # another value, for ensembles


class TextsToLabel(FlagGroup, heading="Mode"):
    """Flags for texts that people should label next."""

    to_label: str | None = option(
        None,
        "also write to_label.tsv, the predicted texts with the most doubtful ones first: by the margin between the two "
        "most probable labels, by the entropy of the probabilities, or by the disagreement of an ensemble; default: by "
        "the probability that the label is wrong, and only for calibrated models",
        choices=(*DOUBT_NAMES, DISAGREEMENT),
        needs={"": "do_predict", f"={DISAGREEMENT}": "ensemble or average_predictions"},
        because={
            "do_predict": "it ranks the texts that are predicted",
            "ensemble or average_predictions": "its members must differ",
        },
    )
    to_label_rows: int = option(
        0,
        "largest number of rows in to_label.tsv; 0: all rows",
        lower=0,
        needs="to_label",
        because="it shortens its list",
    )


# Flags that a training run does not set if this flag names other data.
REPLACED_FLAGS = {"data_dir": ("train_file", "dev_file", "test_file"), "dev_split": ("dev_file",)}


def read_metrics(text: str) -> tuple[str, ...]:
    """Return the functions in the values of --metric, one per line or separated by commas."""
    names = tuple(dict.fromkeys(name.strip() for name in re.split(r"[,\n]", text) if name.strip()))
    refuse_if(not names, f"--metric={text}: names no function")
    return names


class CustomMetrics(FlagGroup, heading="Evaluation during training"):
    """Flag for the user's metrics."""

    # None, not (): flags.txt has no empty list.
    metric: tuple[str, ...] | None = option(
        None,
        "your metric, as MODULE:FUNCTION, such as sklearn.metrics:matthews_corrcoef or my_metrics.py:cost; a function of "
        "labels and predictions, or of labels, predictions and probabilities, that returns a number; a list for several",
        read=read_metrics,
        write=",".join,
        repeated=True,
        needs="do_eval or cross_validation",
        because="it measures an evaluation",
    )


@dataclasses.dataclass(frozen=True)
class ClassifySettings(TrainingSettings):
    """Flags of bert-classify."""

    essential: ClassVar[tuple[str, ...]] = (
        "task_name", "data_dir", "train_file", "dev_file", "predict_file", "max_seq_length", "text_column",
        "label_column", "problem_type", "dev_split", "init_checkpoint", "do_train", "do_eval", "do_predict",
        "output_dir", "overwrite_output_dir", "dry_run", "text", "input_file", "train_batch_size",
        "learning_rate", "num_train_epochs", "random_seed", "eval_every",
    )  # fmt: skip
    modes: ClassVar[tuple[str, ...]] = ("do_train or do_eval or do_predict", "text or explain", "input_file")

    task: Classification = group(Classification)
    data: DataFiles = group(
        DataFiles,
        {
            "data_dir": "directory with train.tsv, dev.tsv and test.tsv, or the task's own file names",
            "train_file": {
                "help": "training file (.tsv, .csv or .jsonl, also .gz) instead of --task_name and "
                "--data_dir, or with --task_name instead of its training file",
                "remembered": True,
            },
            "dev_file": "dev file to evaluate",
            "test_file": "test file to predict, with or without labels",
            "predict_file": "file to predict; its labels are ignored; .txt: one text per line; "
            "with --do_predict alone also a pattern such as 'part-*.tsv' for several files",
        },
        data_dir="data",
    )
    columns: Columns = group(
        Columns,
        {
            name: {"excludes": ("text", "explain"), "because": "the text is on the command line, in no table"}
            for name in TEXT_COLUMNS
        },
    )
    choices: Choices = group(Choices)
    label_kind: LabelKind = group(LabelKind)
    kept_columns: KeptColumns = group(KeptColumns)
    missing_labels: MissingLabels = group(MissingLabels)
    rows: RowColumns = group(RowColumns)
    dev_split: DevSplit = group(DevSplit)
    encoding: Encoding = group(Encoding)
    model: ModelFiles = group(ModelFiles)
    hub: HubEncoder = group(HubEncoder)
    phases: Phases = group(Phases, {"do_train": "train on the training file", "do_eval": "evaluate on the dev file"})
    inference: Inference = group(
        Inference,
        {
            "glue_submission": {
                "needs": f"task_name={'|'.join(SUBMITTED)}",
                "excludes": "predict_file",
                "because": {"predict_file": "a submission is about the test file of the task"},
            }
        },
        without=("decoding",),
    )
    calibration: CalibrationFlags = group(CalibrationFlags)
    bootstrap: Bootstrap = group(Bootstrap)
    ensemble: Averaging = group(Averaging)
    to_label: TextsToLabel = group(TextsToLabel)
    text_files: TextFiles = group(TextFiles)
    new: NewText = group(NewText, {"text": "classify this text with a trained model and print the result as JSON"})
    files: Files = group(
        Files,
        {
            "input_file": "classify this file with a trained model: one text per line, or a pair separated by ' ||| "
            "' (unless the model was trained on single texts); tables (.tsv, .csv, .jsonl) as for "
            "--predict_file; - for standard input; a "
            "pattern such as 'part-*.txt' for several files; the result is JSON lines",
            "output_file": {
                "help": "file for the JSON lines of --input_file, - for standard output; for "
                "several input files the prefix of the names, as in NAME-00000-of-00003",
                **OF_INPUT_FILE,
            },
        },
        output_file="-",
    )
    training: Training = group(Training)
    fine_tuning: FineTuning = group(FineTuning)
    sample: TrainingSample = group(TrainingSample)
    method: TrainingMethod = group(TrainingMethod)
    distillation: Distillation = group(Distillation)
    early_stopping: EarlyStoppingFlags = group(EarlyStoppingFlags)
    custom: CustomMetrics = group(CustomMetrics)
    page: ReportPage = group(ReportPage)
    rates: LayerRates = group(LayerRates)
    optimization: Optimization = group(Optimization)
    dropout: Dropout = group(Dropout)
    head: HeadInput = group(HeadInput)
    loss: Loss = group(Loss)
    sweep: Sweep = group(Sweep)
    seed: Seed = group(Seed)
    saving: Saving = group(Saving)
    devices: Devices = group(Devices, without=("batch_size",))
    log: Log = group(Log)

    @property
    def rate_factor(self) -> float | None:
        return self.method.rate_factor

    @property
    def text_form(self) -> TextForm:
        """Return the form that all files with examples have."""
        return TextForm(self.text_files.encoding, self.data.quoting, self.data.sheet)


def check_filled_data(settings: ClassifySettings) -> None:
    """Raise InputError if a file that the run reads is empty; the message names the flag."""
    data, does_predict = settings.data, settings.inference.do_predict
    does_train, does_eval = settings.phases.do_train, settings.phases.do_eval
    for flag, path, is_read in (
        ("train_file", data.train_file, does_train or settings.dev_split.dev_split),
        ("unlabeled_file", settings.distillation.unlabeled_file, does_train),
        ("dev_file", data.dev_file, does_eval),
        ("test_file", data.test_file, does_predict and not data.predict_file),
        ("predict_file", data.predict_file, does_predict),
    ):
        refuse_if(is_read and path and files.is_empty(path), f"{path}: is empty; check --{flag}")
