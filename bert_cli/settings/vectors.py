"""Flags of bert-train-vectors, for the command and for its models in Python."""

import dataclasses
from typing import ClassVar

from bert_cli.base.errors import InputError
from bert_cli.base.names import MODULES
from bert_cli.base.pooling import NONE, POOLER, POOLINGS, read_pooling
from bert_cli.flags.option import FlagGroup, deciding_option, group
from bert_cli.problem_types.pair_losses import PAIR_LOSSES, TRIPLET
from bert_cli.settings.controls import Dropout, HeadInput, LayerRates, Loss, Optimization
from bert_cli.settings.data import Columns, DataFiles, PairColumns, TextForm
from bert_cli.settings.devices import Devices
from bert_cli.settings.groups import Encoding, HubEncoder, Inference, Log, ModelFiles, Phases, TextFiles
from bert_cli.settings.training import (
    EarlyStoppingFlags,
    FineTuning,
    ReportPage,
    Saving,
    Seed,
    Sweep,
    Training,
    TrainingSettings,
)

AUTO = "auto"  # value of --loss
_OF_TEXTS = tuple(name for name in POOLINGS if name not in (NONE, POOLER))
# For BERT-Base this is a learning rate of 2e-5, as in most examples of sentence-transformers.
_RATE_FACTOR = 0.4


def _read_text_pooling(text: str) -> str:
    """Return a value of --pooling that gives one vector per text."""
    pooling = read_pooling(text)
    if pooling in (NONE, POOLER):
        raise InputError(f"--pooling={text}: is no pooling of sentence-transformers; give mean or cls")
    return pooling


class VectorShape(FlagGroup, heading="Texts and vectors"):
    """The vector of a text, which the trained model's modules compute."""

    pooling: str | None = deciding_option(
        None,
        "one vector per text: cls, mean, max, mean_sqrt_len, weighted_mean, last (token), or several "
        f"such as cls,mean; default: as in the model's {MODULES}, or mean",
        read=_read_text_pooling,
        suggestions=_OF_TEXTS,
    )
    normalize: bool | None = deciding_option(
        None,
        f"scale the trained model's vectors to length 1; default: as in the model's {MODULES}, or true",
    )


class PairTraining(FlagGroup, heading="Training"):
    """The loss on pairs of texts."""

    loss: str = deciding_option(
        AUTO,
        f"loss; {'; '.join(f'{loss.name}: {loss.description}' for loss in PAIR_LOSSES.values())}; "
        f"{AUTO}: cosent if the training file has scores, else multiple_negatives",
        choices=(AUTO, *PAIR_LOSSES),
    )
    mine_negatives: int = deciding_option(
        0,
        "number of negatives per row that the model finds before the training: the most similar second "
        "texts of other rows, without those that are more similar than the row's own; 0: none",
        lower=0,
        needs="do_train",
    )
    similarity_scale: float = deciding_option(
        20.0,
        "factor of cosines in multiple_negatives and cosent, the inverse of a temperature",
        above=0.0,
    )
    margin: float = deciding_option(
        0.5,
        "least difference between the cosines of the second text and of a negative",
        above=0.0,
        upper=2.0,
        needs=f"loss={TRIPLET.name}",
    )


@dataclasses.dataclass(frozen=True)
class VectorTrainingSettings(TrainingSettings):
    """Flags of bert-train-vectors."""

    essential: ClassVar[tuple[str, ...]] = (
        "train_file", "dev_file", "text_column", "text_b_column", "negative_columns", "score_column",
        "loss", "pooling", "normalize", "max_seq_length", "init_checkpoint", "do_train", "do_eval",
        "output_dir", "overwrite_output_dir", "dry_run", "train_batch_size", "learning_rate",
        "num_train_epochs", "random_seed", "eval_every",
    )  # fmt: skip
    modes: ClassVar[tuple[str, ...]] = ("do_train or do_eval",)

    data: DataFiles = group(
        DataFiles,
        {
            "train_file": "table of pairs to train on (.tsv, .csv, .jsonl, .parquet, …); a row has two "
            "texts that belong together, and perhaps negatives, or it has the similarity of two texts",
            "dev_file": "table of pairs to evaluate; with scores, Spearman's correlation of cosines and "
            "scores; without scores, a search for the second text among all second texts",
            "header": "whether the first row of a file is a header; auto: detected by names of columns",
        },
        only=("train_file", "dev_file", "header", "quoting", "sheet"),
    )
    text_files: TextFiles = group(TextFiles)
    columns: Columns = group(
        Columns,
        {
            "text_column": "column of the first text, by name or by number from 0; default: detected "
            "by its name (anchor, query, sentence1, …)",
            "text_b_column": "column of the second text, which belongs to the first",
        },
        only=("text_column", "text_b_column"),
    )
    pair_columns: PairColumns = group(PairColumns)
    encoding: Encoding = group(Encoding, only=("max_seq_length",))
    vectors: VectorShape = group(VectorShape)
    model: ModelFiles = group(ModelFiles)
    hub: HubEncoder = group(HubEncoder, only=())
    phases: Phases = group(Phases, {"do_train": "train on the training file", "do_eval": "evaluate on the dev file"})
    inference: Inference = group(
        Inference,
        {"eval_batch_size": "batch size of the evaluation, in texts of max_seq_length"},
        only=("eval_batch_size",),
    )
    training: Training = group(
        Training,
        {
            "train_batch_size": "training batch size in rows, over all devices",
            "learning_rate": "peak learning rate; default: 0.4 times the one of docs/training.md, 2e-5 for BERT-Base",
        },
    )
    fine_tuning: FineTuning = group(FineTuning)
    pair_training: PairTraining = group(PairTraining)
    early_stopping: EarlyStoppingFlags = group(EarlyStoppingFlags)
    page: ReportPage = group(ReportPage)
    rates: LayerRates = group(LayerRates, only=("freeze_layers", "layerwise_lr_decay"))
    # Losses that compare the rows of a batch cannot be computed in parts of it.
    optimization: Optimization = group(
        Optimization, without=("gradient_accumulation_steps", "auto_batch"), bias_correction=True
    )
    dropout: Dropout = group(Dropout)
    head: HeadInput = group(HeadInput, only=())
    loss: Loss = group(Loss, only=())
    sweep: Sweep = group(Sweep, only=("num_runs",))
    seed: Seed = group(Seed)
    saving: Saving = group(Saving)
    devices: Devices = group(Devices, without=("batch_size",))
    log: Log = group(Log)

    @property
    def rate_factor(self) -> float:
        return _RATE_FACTOR

    @property
    def text_form(self) -> TextForm:
        """Return the form that the files have."""
        return TextForm(self.text_files.encoding, self.data.quoting, self.data.sheet)
