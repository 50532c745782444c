"""The flags of bert-tag, for the command and for the same models from Python."""

import dataclasses

from bert_cli.base.errors import InputError
from bert_cli.flags.option import group, option
from bert_cli.settings.controls import ClassWeights, Dropout, HeadDropout, LayerRates, Loss, Optimization
from bert_cli.settings.data import HeldOutFiles
from bert_cli.settings.devices import Devices
from bert_cli.settings.dry_run import DryRun
from bert_cli.settings.early_stopping import Watching
from bert_cli.settings.groups import (
    AT_LEAST,
    DataFolder,
    Evaluation,
    FineTuning,
    Hub,
    HubTraining,
    Input,
    Length,
    Log,
    ModelFiles,
    NewText,
    Output,
    Phases,
    Prediction,
    Saving,
    Seed,
    Start,
    TrainFile,
    Training,
)
from bert_cli.settings.reporting import Page
from bert_cli.settings.sweep import Folds, Runs

DECODINGS = ("argmax", "viterbi")
TAG_SCHEMES = ("BIO", "IOB1", "BIOES", "IO")


@dataclasses.dataclass(frozen=True)
class TagStride:
    """Data"""

    doc_stride: int | None = option(
        None,
        "pieces from one window to the next; default: half of max_seq_length",
        lower=1,
        decides=True,
        remembered=True,
    )

    def pieces(self, max_seq_length: int) -> int:
        """From one window of so many tokens to the next: what was given, else half a window."""
        return self.doc_stride or max(1, max_seq_length // 2)


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
    stride: TagStride = group(TagStride)
    start: Start = group(Start)
    model: ModelFiles = group(ModelFiles)
    hub: Hub = group(Hub)
    hub_training: HubTraining = group(HubTraining, {"hub_trainable": {"decides": False}})  # it is a freeze_encoder here
    tagger: TaggerModel = group(TaggerModel)
    dry_run: DryRun = group(DryRun)
    phases: Phases = group(Phases, {"do_train": "train on the train file", "do_eval": "evaluate on the dev file"})
    prediction: Prediction = group(
        Prediction,
        {
            "do_predict": "tag the test file, and score it where it has tags",
            "predict_batch_size": f"windows in a batch of the prediction; {AT_LEAST}",
        },
    )
    evaluation: Evaluation = group(Evaluation, {"eval_batch_size": f"windows in a batch of the evaluation; {AT_LEAST}"})
    single: TaggerOutput = group(TaggerOutput)
    new: NewText = group(NewText, {"text": "tag this text with a trained model and print the result"})
    input: Input = group(
        Input,
        {"input_file": "tag plain text, line by line, with a trained model; - for standard input; the result is JSON"},
    )
    output: Output = group(
        Output, {"output_file": "file for the JSON lines of --input_file, - for standard output"}, output_file="-"
    )
    training: Training = group(Training, {"train_batch_size": "windows in a training batch, over all devices"})
    # Adam without it learns tags too slowly; Google's scripts have none.
    fine_tuning: FineTuning = group(FineTuning, bias_correction=True)
    watching: Watching = group(Watching)
    page: Page = group(Page)
    rates: LayerRates = group(LayerRates)
    optimization: Optimization = group(Optimization)
    dropout: Dropout = group(Dropout)
    head_dropout: HeadDropout = group(HeadDropout)
    loss: Loss = group(Loss)
    class_weights: ClassWeights = group(ClassWeights)
    runs: Runs = group(Runs)
    folds: Folds = group(
        Folds,
        {
            "cross_validation": "divide the training sentences into so many parts, of each type of entities alike, and "
            "evaluate each with a model trained on the others: out_of_fold.tsv has the tags of every sentence, suspects.tsv "
            "the words whose tag is doubtful"
        },
    )
    seed: Seed = group(Seed)
    saving: Saving = group(Saving)
    devices: Devices = group(Devices)
    log: Log = group(Log)
