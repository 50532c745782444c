"""The flags of bert-classify, bert-squad and bert-tag, for the commands and for the same models from Python."""

import dataclasses

from bert_cli.base.errors import InputError
from bert_cli.settings.data import Columns, DevSplit, Header, HeldOutFiles, LabelKind, PredictFile, TrainFile
from bert_cli.settings.groups import (
    DataFolder,
    Devices,
    Evaluation,
    FineTuning,
    Hub,
    HubTraining,
    Input,
    Labels,
    Length,
    ModelFiles,
    Output,
    Phases,
    Prediction,
    Saving,
    Seed,
    Start,
    Training,
)
from bert_cli.settings.option import group, option

LANGUAGES = ("ar", "bg", "de", "el", "en", "es", "fr", "hi", "ru", "sw", "th", "tr", "ur", "vi", "zh")  # of xnli
DECODINGS = ("argmax", "viterbi")
MULTIPLE_ANSWERS = ("first", "all")
TAG_SCHEMES = ("BIO", "IOB1", "BIOES", "IO")


@dataclasses.dataclass(frozen=True)
class Classification:
    """Data"""

    task_name: str | None = option(
        None,
        "cola (four columns, any labels), sst-2, mrpc, sts-b, qqp, mnli, qnli, rte, wnli, ax or xnli; none for your own files",
        decides=True,
        remembered=True,
        read=str.lower,
    )
    language: str = option("zh", "language of xnli, such as en or de", choices=LANGUAGES, remembered=True)


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
        PredictFile, {"predict_file": "texts to predict, whose labels are not looked at; .txt: a text a line"}
    )
    header: Header = group(Header)
    columns: Columns = group(Columns)
    label_kind: LabelKind = group(LabelKind)
    dev_split: DevSplit = group(DevSplit)
    labels: Labels = group(Labels)
    length: Length = group(Length)
    start: Start = group(Start)
    model: ModelFiles = group(ModelFiles)
    hub: Hub = group(Hub)
    hub_training: HubTraining = group(HubTraining)
    phases: Phases = group(Phases, {"do_train": "train on the train file", "do_eval": "evaluate on the dev file"})
    prediction: Prediction = group(Prediction)
    evaluation: Evaluation = group(Evaluation)
    training: Training = group(Training)
    fine_tuning: FineTuning = group(FineTuning)
    seed: Seed = group(Seed)
    saving: Saving = group(Saving)
    devices: Devices = group(Devices)


@dataclasses.dataclass(frozen=True)
class Stride:
    """Data"""

    doc_stride: int | None = option(
        None, "tokens from the start of a window to that of the next", decides=True, remembered=True
    )


@dataclasses.dataclass(frozen=True)
class Squad:
    """Data"""

    version_2_with_negative: bool = option(
        False, "SQuAD 2.0: some questions have no answer in their text", decides=True, remembered=True
    )
    multiple_answers: str | None = option(
        None, "which of several answers to train on; default: an error", choices=MULTIPLE_ANSWERS
    )
    max_query_length: int = option(
        64, "longest question in tokens; what is longer is cut", decides=True, remembered=True
    )


@dataclasses.dataclass(frozen=True)
class Questions:
    """Single questions"""

    question: str | None = option(None, "a question about --context or --context_file")
    context: str | None = option(None, "the text that a question is about")
    context_file: str | None = option(None, "a file with that text")


@dataclasses.dataclass(frozen=True)
class Scoring:
    """Scores of any predictions"""

    score_only: bool = option(False, "score predictions_file against predict_file")
    predictions_file: str | None = option(None, 'the predictions: {"id": "answer"}')
    null_odds_file: str | None = option(
        None, 'for SQuAD 2.0: {"id": number}, higher for no answer; gives the best thresholds'
    )


@dataclasses.dataclass(frozen=True)
class Answers:
    """Answers"""

    n_best_size: int = option(20, "starts and ends looked at in a window, and answers in an n-best list")
    max_answer_length: int = option(30, "longest answer in tokens")
    null_score_diff_threshold: float = option(0.0, "there is no answer where the null odds are above this")
    verbose_logging: bool = option(False, "log the windows of 20 questions, not of one")


@dataclasses.dataclass(frozen=True)
class SquadTraining:
    """Training"""

    steps_from_examples: bool = option(
        False, "count steps from questions, not windows, as Google's script does", decides=True
    )
    skip_padding: bool = option(
        False,
        "leave padding out of the loss, which is faster where texts are short; Google's counts it",
        decides=True,
    )


@dataclasses.dataclass(frozen=True)
class SquadSettings:
    """The flags of bert-squad."""

    train_file: TrainFile = group(TrainFile, {"train_file": "SQuAD file to train on"})
    predict_file: PredictFile = group(PredictFile, {"predict_file": "SQuAD file to answer, evaluate or score"})
    task: Squad = group(Squad)
    length: Length = group(Length, {"max_seq_length": "longest window in tokens"}, max_seq_length=384)
    stride: Stride = group(Stride, doc_stride=128)
    start: Start = group(Start)
    model: ModelFiles = group(ModelFiles)
    hub: Hub = group(Hub)
    hub_training: HubTraining = group(HubTraining)
    phases: Phases = group(
        Phases,
        {"do_train": "train on train_file", "do_eval": "evaluate on predict_file: exact match and F1"},
        output_dir=None,
    )
    prediction: Prediction = group(
        Prediction,
        {
            "do_predict": "answer the questions of predict_file",
            "predict_batch_size": "windows in a batch of the prediction",
        },
    )
    questions: Questions = group(Questions)
    input: Input = group(
        Input, {"input_file": 'JSON lines {"id", "question", "context"} to answer, - for standard input'}
    )
    output: Output = group(
        Output, {"output_file": "file for the answers to input_file as JSON lines; default: standard output"}
    )
    scoring: Scoring = group(Scoring)
    answers: Answers = group(Answers)
    training: Training = group(Training, {"train_batch_size": "windows in a training batch, over all devices"})
    fine_tuning: FineTuning = group(FineTuning)
    squad_training: SquadTraining = group(SquadTraining)
    seed: Seed = group(Seed)
    saving: Saving = group(Saving)
    devices: Devices = group(Devices)


def read_layers(text: str) -> tuple[int, ...]:
    """The value of bert-tag's --layers. InputError for one that is not whole numbers, each named once."""
    try:
        layers = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--layers={text}: whole numbers with commas between are needed, such as -1,-2") from None
    if len(set(layers)) < len(layers):
        raise InputError(f"--layers={text}: a layer is named twice")
    return layers


@dataclasses.dataclass(frozen=True)
class Tagging:
    """Data"""

    word_column: int = option(0, "column of the words, from 0; -1 is the last", remembered=True)
    tag_column: int = option(-1, "column of the tags, from 0; -1 is the last", remembered=True)
    tag_scheme: str = option(
        "auto",
        "how entities are written as tags; auto: what the tags look like",
        choices=("auto", *TAG_SCHEMES),
        remembered=True,
    )
    test_tags: str = option(
        "auto",
        "whether the test file has tags; auto: unless it has one column alone",
        choices=("auto", "yes", "no"),
    )
    label_all_pieces: bool = option(
        False,
        "train on all pieces of a word, not on its first alone; predictions read the first",
        decides=True,
        remembered=True,
    )


@dataclasses.dataclass(frozen=True)
class TaggerModel:
    """Model"""

    freeze_encoder: bool = option(
        False, "train the classifier alone, on what the encoder, left as it is, says", decides=True
    )
    layers: tuple[int, ...] | None = option(
        None,
        "encoder layers the classifier reads, side by side; default: -1, the last one, and with --freeze_encoder "
        "-1,-2,-3,-4",
        read=read_layers,
        write=lambda layers: ",".join(map(str, layers)),
        decides=True,
        remembered=True,
    )


@dataclasses.dataclass(frozen=True)
class TaggerOutput:
    """What to do"""

    text: str | None = option(None, "tag this text with a trained model and print the result")
    decoding: str = option(
        "argmax",
        "argmax: the most probable tag of each word; viterbi: the most probable sequence in which no I- follows another "
        "type",
        choices=DECODINGS,
    )


@dataclasses.dataclass(frozen=True)
class TagSettings:
    """The flags of bert-tag."""

    data: DataFolder = group(
        DataFolder,
        {"data_dir": "folder with train, dev and test, each .txt (columns) or .jsonl"},
        data_dir="data/tagging",
    )
    train_file: TrainFile = group(TrainFile, {"train_file": "the training file, instead of that of data_dir"})
    held_out: HeldOutFiles = group(HeldOutFiles)
    task: Tagging = group(Tagging)
    length: Length = group(Length, {"max_seq_length": "longest input in tokens; longer sentences are cut into windows"})
    stride: Stride = group(
        Stride,
        {"doc_stride": {"help": "pieces from one window to the next; default: half of max_seq_length", "lower": 1}},
    )
    start: Start = group(Start)
    model: ModelFiles = group(ModelFiles)
    hub: Hub = group(Hub)
    hub_training: HubTraining = group(HubTraining, {"hub_trainable": {"decides": False}})  # it is a freeze_encoder here
    tagger: TaggerModel = group(TaggerModel)
    phases: Phases = group(Phases, {"do_train": "train on the train file", "do_eval": "evaluate on the dev file"})
    prediction: Prediction = group(
        Prediction,
        {
            "do_predict": "tag the test file, and score it where it has tags",
            "predict_batch_size": "windows in a batch of the prediction",
        },
    )
    evaluation: Evaluation = group(Evaluation, {"eval_batch_size": "windows in a batch of the evaluation"})
    single: TaggerOutput = group(TaggerOutput)
    input: Input = group(
        Input, {"input_file": "tag a file of plain text, line by line, with a trained model; the result is JSON"}
    )
    output: Output = group(
        Output, {"output_file": "file for the JSON lines of --input_file, - for standard output"}, output_file="-"
    )
    training: Training = group(Training, {"train_batch_size": "windows in a training batch, over all devices"})
    # Adam without it learns tags too slowly; Google's scripts have none.
    fine_tuning: FineTuning = group(FineTuning, bias_correction=True)
    seed: Seed = group(Seed)
    saving: Saving = group(Saving)
    devices: Devices = group(Devices)
