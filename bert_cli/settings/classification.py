"""The flags of bert-classify, for the command and for the same models from Python."""

import dataclasses
from typing import ClassVar

from bert_cli.flags.option import FlagGroup, deciding, group, option, remembered
from bert_cli.settings.data import Columns, DataFiles, DevSplit, Endings, LabelKind, TextForm
from bert_cli.settings.groups import Encoding, Files, Hub, Inference, ModelFiles, NewText, Phases, TextFiles
from bert_cli.settings.training import FineTuning, Training, TrainingSettings

# In any case of letters.
TASK_NAMES = ("cola", "sst-2", "mrpc", "sts-b", "qqp", "mnli", "qnli", "rte", "wnli", "ax", "xnli", "swag")
LANGUAGES = ("ar", "bg", "de", "el", "en", "es", "fr", "hi", "ru", "sw", "th", "tr", "ur", "vi", "zh")  # of xnli


class Classification(FlagGroup, heading="Data"):
    """The task of bert-classify."""

    task_name: str = deciding(
        "",
        "cola (four columns, any labels), sst-2, mrpc, sts-b, qqp, mnli, qnli, rte, wnli, ax, xnli or swag; none for your own "
        "files",
        remembered=True,
        read=str.lower,
        usual=TASK_NAMES,
    )
    language: str = remembered("zh", "language of xnli, such as en or de", choices=LANGUAGES)


class Distillation(FlagGroup, heading="Training"):
    """Training a classifier on the probabilities of another one (Hinton et al., 2015)."""

    distill_from: str = option(
        "", "folder of a trained classifier of the same labels, whose probabilities are learnt too", path=True
    )
    unlabeled_file: str = option(
        "",
        "with --distill_from: texts without labels to learn its probabilities on, a text a line or a table",
        path=True,
    )
    distill_temperature: float = deciding(2.0, "what the logits of both are divided by for --distill_from", lower=0.0)
    distill_share: float = deciding(
        0.5, "share of --distill_from in the loss; the rest is that of the labels", lower=0.0, upper=1.0
    )


@dataclasses.dataclass(frozen=True)
class ClassifySettings(TrainingSettings):
    """The flags of bert-classify."""

    essential: ClassVar[tuple[str, ...]] = (
        "task_name", "data_dir", "train_file", "dev_file", "predict_file", "max_seq_length", "text_column",
        "label_column", "problem_type", "dev_split", "init_checkpoint", "do_train", "do_eval", "do_predict",
        "output_dir", "overwrite_output_dir", "dry_run", "text", "input_file", "train_batch_size",
        "learning_rate", "num_train_epochs", "random_seed", "eval_every",
    )  # fmt: skip

    task: Classification = group(Classification)
    data: DataFiles = group(
        DataFiles,
        {
            "data_dir": "folder with train.tsv, dev.tsv and test.tsv (names as the task has them)",
            "train_file": {
                "help": "the file to train on: .tsv, .csv, .jsonl, each also .gz; instead of --task_name and --data_dir, or "
                "with --task_name in place of its file",
                "remembered": True,
            },
            "dev_file": "the file to evaluate",
            "test_file": "the file to predict, with or without labels",
            "predict_file": "texts to predict, whose labels are not looked at; .txt: a text a line; with --do_predict alone "
            "also a pattern such as 'part-*.tsv' for several files",
        },
        data_dir="data",
    )
    columns: Columns = group(Columns)
    endings: Endings = group(Endings)
    label_kind: LabelKind = group(LabelKind)
    dev_split: DevSplit = group(DevSplit)
    encoding: Encoding = group(Encoding)
    model: ModelFiles = group(ModelFiles)
    hub: Hub = group(Hub)
    phases: Phases = group(Phases, {"do_train": "train on the train file", "do_eval": "evaluate on the dev file"})
    inference: Inference = group(Inference, without=("decoding",))
    text_files: TextFiles = group(TextFiles)
    new: NewText = group(NewText, {"text": "classify this text with a trained model and print the result as JSON"})
    files: Files = group(
        Files,
        {
            "input_file": "classify a text a line, or a pair with ' ||| ' between, with a trained model; a .tsv, .csv or "
            ".jsonl is read as --predict_file is; - for standard input; the result is JSON; a pattern such as 'part-*.txt' "
            "for several files",
            "output_file": "file for the JSON lines of --input_file, - for standard output; of several input files the "
            "beginning of the names, as in NAME-00000-of-00003",
        },
        output_file="-",
    )
    training: Training = group(Training)
    fine_tuning: FineTuning = group(FineTuning)
    distillation: Distillation = group(Distillation)

    @property
    def text_form(self) -> TextForm:
        """How the files of examples are written."""
        return TextForm(self.text_files.encoding, self.data.quoting)
