"""Flags of bert-tag, for the command and for its models in Python."""

import dataclasses
from typing import ClassVar

from bert_cli.flags.option import group, replace_values
from bert_cli.settings.answering import TaggerModel, Tagging, window_stride
from bert_cli.settings.controls import Dropout, HeadInput, LayerRates, Loss, Optimization
from bert_cli.settings.data import Columns, DataFiles, DevSplit, MissingLabels, TextForm
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
    TrainingSettings,
)


@dataclasses.dataclass(frozen=True)
class TagSettings(TrainingSettings):
    """Flags of bert-tag."""

    essential: ClassVar[tuple[str, ...]] = (
        "data_dir", "train_file", "dev_file", "test_file", "tag_scheme", "max_seq_length", "init_checkpoint",
        "do_lower_case", "do_train", "do_eval", "do_predict", "output_dir", "overwrite_output_dir",
        "dry_run", "text", "input_file", "train_batch_size", "learning_rate", "num_train_epochs",
        "random_seed", "eval_every", "num_runs",
    )  # fmt: skip
    modes: ClassVar[tuple[str, ...]] = ("do_train or do_eval or do_predict", "text", "input_file")

    data: DataFiles = group(
        DataFiles,
        {
            "data_dir": "directory with train, dev and test, each .txt (columns), .jsonl, .csv or another table",
            "header": {"help": "whether the first row of a file in columns is a header; auto: detected"},
            "train_file": "training file, instead of data_dir's; or an export of doccano, Label "
            "Studio, Prodigy, spaCy or Dataturks, or a directory of brat",
        },
        only=("data_dir", "train_file", "dev_file", "test_file", "header", "quoting", "sheet"),
        data_dir="data/tagging",
    )
    task: Tagging = group(Tagging)
    encoding: Encoding = group(
        Encoding,
        {
            "labels": {
                "help": "names of tags that are numbers, in the order of the numbers, such as O,B-PER,I-PER",
                "remembered": True,
            },
            "max_seq_length": "maximum window length in tokens; longer sentences are split into windows",
        },
        only=("labels", "max_seq_length"),
    )
    dev_split: DevSplit = group(
        DevSplit,
        {
            "dev_split": {
                "help": "with --cross_validation, training sentences of each fold that choose its best checkpoint: a "
                "fraction such as 0.1 or a number such as 200, stratified by entity type; first:200: the first 200",
                "remembered": False,
                "needs": "cross_validation",
                "excludes": (),
            },
            "dev_split_seed": {"remembered": False},
        },
    )
    missing_labels: MissingLabels = group(
        MissingLabels,
        {
            "skip_unlabeled": "leave out sentences with a word without a tag from training and dev data",
        },
    )
    model: ModelFiles = group(ModelFiles)
    hub: HubEncoder = group(HubEncoder, {"hub_trainable": {"decides": False}})  # --freeze_encoder decides instead
    tagger: TaggerModel = group(TaggerModel)
    phases: Phases = group(Phases, {"do_train": "train on the training file", "do_eval": "evaluate on the dev file"})
    inference: Inference = group(
        Inference,
        {
            "do_predict": "tag the test file, and score it if it has tags",
            "predict_batch_size": f"batch size of the prediction, in windows; {AT_LEAST}",
            "eval_batch_size": f"batch size of the evaluation, in windows; {AT_LEAST}",
        },
        only=("do_predict", "predict_batch_size", "eval_batch_size", "decoding"),
    )
    bootstrap: Bootstrap = group(Bootstrap)
    new: NewText = group(NewText, {"text": "tag this text with a trained model and print the result"}, only=("text",))
    text_files: TextFiles = group(TextFiles)
    columns: Columns = group(
        Columns,
        {
            "text_column": {
                "help": "column of the texts, if --input_file is a table; default: detected",
                "remembered": False,
                "needs": "input_file",
                "because": "--word_column names the words of the other files",
            },
            "id_column": {
                "help": "column of the ids, if --input_file is a table; default: id, or none",
                "remembered": False,
            },
        },
        only=("text_column", "id_column"),
    )
    files: Files = group(
        Files,
        {
            "input_file": "tag a file of plain text, line by line, or the texts of a table (.csv, .jsonl, .xlsx, …), "
            "with a trained model; - for standard input; the result is JSON lines",
            "output_file": {
                "help": "file for the JSON lines of --input_file, - for standard output",
                **OF_INPUT_FILE,
            },
        },
        without=("shard",),
        output_file="-",
    )
    # Sentences are short, and most words have the tag O. With 2,000 sentences and the built-in
    # model, batches of 32 made too few updates: an F1 of 0.05 instead of 0.17 on WNUT 17, mean of
    # three seeds, in the same time.
    training: Training = group(
        Training, {"train_batch_size": "training batch size in windows, over all devices"}, train_batch_size=16
    )
    fine_tuning: FineTuning = group(FineTuning)
    early_stopping: EarlyStoppingFlags = group(EarlyStoppingFlags)
    page: ReportPage = group(ReportPage)
    rates: LayerRates = group(LayerRates)
    # Google's scripts do not use bias correction, but without it Adam learns tags too slowly.
    optimization: Optimization = group(Optimization, bias_correction=True)
    dropout: Dropout = group(Dropout)
    head: HeadInput = group(HeadInput, only=("classifier_dropout",))
    loss: Loss = group(Loss)
    sweep: Sweep = group(
        Sweep,
        {
            "cross_validation": "stratified k-fold cross-validation of the training sentences with this k; "
            "out_of_fold.tsv has the tags of every sentence, suspects.tsv the words with a suspected wrong tag"
        },
    )
    ensemble: Averaging = group(
        Averaging,
        {
            "average_predictions": "tag the test file, and with --num_runs the dev file, by the mean probabilities of each "
            "word over the runs or folds instead of the best run"
        },
        only=("average_predictions",),
    )
    seed: Seed = group(Seed)
    saving: Saving = group(Saving)
    devices: Devices = group(Devices, without=("batch_size",))
    log: Log = group(Log)

    @property
    def text_form(self) -> TextForm:
        """Return the form that table files have."""
        return TextForm(self.text_files.encoding, self.data.quoting, self.data.sheet)


# Files of the training run that are not used if this flag names other data.
REPLACED_FLAGS = {"data_dir": ("dev_file", "test_file")}


def with_stride(settings: TagSettings) -> TagSettings:
    """Return the settings with a number as --doc_stride, which flags.txt and the manifest contain."""
    stride = window_stride(settings.task.doc_stride, settings.encoding.max_seq_length)
    return replace_values(settings, {"doc_stride": stride})
