"""The flags of bert-classify, for the command and for the same models from Python."""

import dataclasses

from bert_cli.base.errors import InputError
from bert_cli.flags.option import group, option
from bert_cli.settings.controls import ClassWeights, Dropout, HeadDropout, HeadInput, LayerRates, Loss, Optimization
from bert_cli.settings.data import (
    Columns,
    DevSplit,
    Endings,
    Header,
    HeldOutFiles,
    LabelKind,
    PredictFile,
    PredictHeader,
)
from bert_cli.settings.devices import Devices
from bert_cli.settings.distillation import Distillation
from bert_cli.settings.dry_run import DryRun
from bert_cli.settings.early_stopping import Watching
from bert_cli.settings.groups import (
    DataFolder,
    Evaluation,
    FineTuning,
    Hub,
    HubTraining,
    Input,
    Labels,
    Length,
    Log,
    ModelFiles,
    NewText,
    Output,
    Phases,
    Prediction,
    Saving,
    SecondText,
    Seed,
    Start,
    TrainFile,
    Training,
)
from bert_cli.settings.long_text import LongText
from bert_cli.settings.reporting import Explanation, Page
from bert_cli.settings.shards import Shards
from bert_cli.settings.sweep import Folds, Runs, SplitSeed

OUTPUT_FORMATS = ("tsv", "csv", "jsonl")  # of tables of predictions
TUNED = "tuned"
TASK_NAMES = (
    "cola",
    "sst-2",
    "mrpc",
    "sts-b",
    "qqp",
    "mnli",
    "qnli",
    "rte",
    "wnli",
    "ax",
    "xnli",
    "swag",
)  # in any case of letters
LANGUAGES = ("ar", "bg", "de", "el", "en", "es", "fr", "hi", "ru", "sw", "th", "tr", "ur", "vi", "zh")  # of xnli


@dataclasses.dataclass(frozen=True)
class Classification:
    """Data"""

    task_name: str = option(
        "",
        "cola (four columns, any labels), sst-2, mrpc, sts-b, qqp, mnli, qnli, rte, wnli, ax, xnli or swag; none for your own "
        "files",
        decides=True,
        remembered=True,
        read=str.lower,
        usual=TASK_NAMES,
    )
    language: str = option("zh", "language of xnli, such as en or de", choices=LANGUAGES, remembered=True)


def read_threshold(text: str) -> str:
    """The value of --threshold. InputError for one that is neither TUNED nor a probability."""
    try:
        is_right = text == TUNED or 0 <= float(text) <= 1
    except ValueError:
        is_right = False
    if not is_right:
        raise InputError(f"--threshold={text}: a number from 0 to 1 is needed, or {TUNED}")
    return text


@dataclasses.dataclass(frozen=True)
class Results:
    """What to do"""

    threshold: str = option(
        "0.5",
        "of labels that do not exclude each other: the probability from which on a text has one; tuned: for each label the "
        "one with the best F1 on the dev file, which --do_eval writes to thresholds.json",
        read=read_threshold,
        remembered=True,
    )
    output_format: str = option(
        "tsv", "predictions.tsv, predictions.csv, or predictions.jsonl with an object a line", choices=OUTPUT_FORMATS
    )
    glue_submission: bool = option(
        False, "write the predictions also as gluebenchmark.com takes them: CoLA.tsv, MNLI-m.tsv, …"
    )

    @property
    def is_default_threshold(self) -> bool:
        return self.threshold == Results.threshold


_OWN = (
    "the file to train on: .tsv, .csv, .jsonl, each also .gz; instead of --task_name and --data_dir, or with --task_name in "
    "place of its file"
)


@dataclasses.dataclass(frozen=True)
class ClassifySettings:
    """The flags of bert-classify."""

    task: Classification = group(Classification)
    data: DataFolder = group(
        DataFolder,
        {"data_dir": "folder with train.tsv, dev.tsv and test.tsv (names as the task has them)"},
        data_dir="data",
    )
    train_file: TrainFile = group(TrainFile, {"train_file": {"help": _OWN, "remembered": True}})
    held_out: HeldOutFiles = group(
        HeldOutFiles, {"dev_file": "the file to evaluate", "test_file": "the file to predict, with or without labels"}
    )
    predict_file: PredictFile = group(
        PredictFile,
        {
            "predict_file": "texts to predict, whose labels are not looked at; .txt: a text a line; with --do_predict alone "
            "also a pattern such as 'part-*.tsv' for several files"
        },
    )
    header: Header = group(Header)
    predict_header: PredictHeader = group(PredictHeader)
    columns: Columns = group(Columns)
    endings: Endings = group(Endings)
    label_kind: LabelKind = group(LabelKind)
    dev_split: DevSplit = group(DevSplit)
    split_seed: SplitSeed = group(SplitSeed)
    labels: Labels = group(Labels)
    length: Length = group(Length)
    long_text: LongText = group(LongText)
    start: Start = group(Start)
    model: ModelFiles = group(ModelFiles)
    hub: Hub = group(Hub)
    hub_training: HubTraining = group(HubTraining)
    dry_run: DryRun = group(DryRun)
    phases: Phases = group(Phases, {"do_train": "train on the train file", "do_eval": "evaluate on the dev file"})
    prediction: Prediction = group(Prediction)
    results: Results = group(Results)
    evaluation: Evaluation = group(Evaluation)
    new: NewText = group(NewText, {"text": "classify this text with a trained model and print the result as JSON"})
    explanation: Explanation = group(Explanation)
    second: SecondText = group(SecondText)
    input: Input = group(
        Input,
        {
            "input_file": "classify a text a line, or a pair with ' ||| ' between, with a trained model; - for standard "
            "input; the result is JSON; a pattern such as 'part-*.txt' for several files"
        },
    )
    output: Output = group(
        Output,
        {
            "output_file": "file for the JSON lines of --input_file, - for standard output; of several input files the "
            "beginning of the names, as in NAME-00000-of-00003"
        },
        output_file="-",
    )
    shards: Shards = group(Shards)
    training: Training = group(Training)
    fine_tuning: FineTuning = group(FineTuning)
    distillation: Distillation = group(Distillation)
    watching: Watching = group(Watching)
    page: Page = group(Page)
    rates: LayerRates = group(LayerRates)
    optimization: Optimization = group(Optimization)
    dropout: Dropout = group(Dropout)
    head_dropout: HeadDropout = group(HeadDropout)
    head_input: HeadInput = group(HeadInput)
    loss: Loss = group(Loss)
    class_weights: ClassWeights = group(ClassWeights)
    runs: Runs = group(Runs)
    folds: Folds = group(Folds)
    seed: Seed = group(Seed)
    saving: Saving = group(Saving)
    devices: Devices = group(Devices)
    log: Log = group(Log)
