"""Flags of bert-create-pretraining-data and bert-pretrain."""

import dataclasses
import shlex
from typing import ClassVar

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.names import RANDOM
from bert_cli.flags.option import FlagGroup, deciding_option, group, option, remembered_option
from bert_cli.flags.paths import file_list_reader
from bert_cli.settings.controls import LORA_FLAGS, Dropout, HeadInput, LayerRates, Loss, Optimization
from bert_cli.settings.data import TABLE_FORM, Columns, DataFiles
from bert_cli.settings.devices import WITHOUT_ENGINES, WITHOUT_INT8, Devices
from bert_cli.settings.groups import (
    Encoding,
    Files,
    HubEncoder,
    Inference,
    Log,
    ModelFiles,
    Phases,
    Processes,
    TextFiles,
)
from bert_cli.settings.texts import CORPUS_COLUMNS, CORPUS_TABLES
from bert_cli.settings.training import EarlyStoppingFlags, ReportPage, Saving, Seed, Sweep, Training, TrainingSettings

# Forms of sequences. PAIRS are for next-sentence prediction, the other ones for masked words alone.
PAIRS, DOCUMENTS, PACKED, LINES, GROUPS = "pairs", "documents", "packed", "lines", "groups"
FORMS_OF_LINES = (LINES, GROUPS)  # each line is a document
PIECES, SPACES = "pieces", "spaces"  # values of --whole_words_from
SHORT_SEQ_PROB = 0.1
NUM_TRAIN_STEPS, NUM_WARMUP_STEPS = 100000, 10000  # Google's defaults
CASING = "lower-case the text and strip accents; false for a cased model"  # help of --do_lower_case


class MaskedLM(FlagGroup, heading="Masked words"):
    """Flags for masking words."""

    max_predictions_per_seq: int = deciding_option(
        20, "maximum number of masked tokens in a sequence", lower=1, remembered=True
    )
    masked_lm_prob: float = remembered_option(0.15, "fraction of the tokens that are masked", above=0.0, upper=1.0)
    do_whole_word_mask: bool = remembered_option(False, "whole-word masking: mask all pieces of a word or none")
    whole_words_from: str = remembered_option(
        PIECES,
        f"words of --do_whole_word_mask; {PIECES}: word pieces with ## belong to the word before them, as in Google's "
        f"script; {SPACES}: also what spaces divide in the text, such as Chinese text that is cut into words",
        choices=(PIECES, SPACES),
        needs={f"={SPACES}": "do_whole_word_mask"},
    )
    short_seq_prob: float = remembered_option(
        SHORT_SEQ_PROB,
        "fraction of the documents that become shorter sequences",
        lower=0.0,
        upper=1.0,
        excludes={"!=0.0": ("pack=true", "line_by_line")},
        because="packed sequences are full, and a line is a sequence as it is",
    )


class TextVocabulary(FlagGroup, heading="Files"):
    """Vocabulary for tokenizing the text."""

    vocab_file: str = option("", "vocab.txt or tokenizer.json of the model", required=True)
    do_lower_case: bool | None = option(None, f"{CASING}; default: as tokenizer.json has it, else true")


class Instances(FlagGroup, heading="Instances"):
    """Number of pre-training instances that a text gives."""

    dupe_factor: int = option(10, "passes over the text, with new pairs and masks in each", lower=1)
    num_shards: int = option(
        0,
        "number of shards of the work with --num_workers or --runner, each with its own seed; 0: "
        "16, or more for a large corpus; shard s goes to output file s modulo their number",
        lower=0,
        needs="num_workers or runner",
        because="without them, there is one stream of records, as Google's",
    )


def read_beam_options(text: str) -> tuple[str, ...]:
    """Return the words in --beam_options; raise InputError for an open quote or for --runner."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(f"--beam_options={text}: {error}") from None
    # Beam would silently use the last of two runners.
    if any(word.partition("=")[0] == "--runner" for word in words):
        raise InputError("--beam_options: give the runner as --runner itself")
    return words


class Beam(FlagGroup, heading="Apache Beam"):
    """Flags for Apache Beam, which distributes work over machines."""

    runner: str | None = option(
        None,
        "Apache Beam runner that makes the instances (extra beam); direct: in "
        "this process; dataflow, flink or spark: on many machines; for the same --random_seed and "
        "--num_shards the records equal the records of --num_workers",
        choices=("direct", "dataflow", "flink", "spark"),
        excludes="num_workers",
        because="a runner has workers of its own; leave --num_workers out, or give Beam's in --beam_options",
    )
    beam_options: tuple[str, ...] = option(
        (),
        "options of Beam, in quotes, such as '--project=P --region=R --temp_location=gs://B/tmp'",
        read=read_beam_options,
        write=shlex.join,
        needs="runner",
    )


@dataclasses.dataclass(frozen=True)
class CreateDataSettings:
    """Flags of bert-create-pretraining-data."""

    essential: ClassVar[tuple[str, ...]] = (
        "encoding", "text_column", "input_file", "output_file", "vocab_file", "do_lower_case", "max_seq_length",
        "max_predictions_per_seq", "masked_lm_prob", "do_whole_word_mask", "whole_words_from", "short_seq_prob",
        "dupe_factor", "num_shards", "random_seed", "num_workers", "runner", "beam_options",
    )  # fmt: skip

    text_files: TextFiles = group(TextFiles)
    columns: Columns = group(Columns, CORPUS_COLUMNS, only=tuple(CORPUS_COLUMNS))
    data: DataFiles = group(DataFiles, CORPUS_TABLES, only=TABLE_FORM)
    files: Files = group(
        Files,
        {
            "input_file": {
                "help": "text files with one sentence per line and empty lines between documents, or tables; names or "
                "patterns such as 'text/*.txt', separated by commas; - for standard input; gzip is recognized",
                "required": True,
            },
            "output_file": {
                "required": True,
                "help": "TFRecord files to write, separated by commas; name@8 means "
                "name-00000-of-00008 to name-00007-of-00008",
                "read": file_list_reader("output_file"),
            },
        },
        without=("shard", "line_buffered"),
    )
    vocabulary: TextVocabulary = group(TextVocabulary)
    encoding: Encoding = group(
        Encoding,
        {"max_seq_length": {"help": "maximum sequence length in tokens", "lower": None}},
        only=("max_seq_length",),
    )
    masking: MaskedLM = group(MaskedLM)
    instances: Instances = group(Instances)
    seed: Seed = group(Seed, {"random_seed": {"help": "seed of all random draws", "lower": None}})
    workers: Processes = group(
        Processes,
        {
            "num_workers": "number of processes; 0: Google's records, in one process, where a document continues "
            "from one file into the next; 1 or more: a document ends with its file"
        },
    )
    beam: Beam = group(Beam)
    log: Log = group(Log)


class Pretraining(FlagGroup, heading="Data"):
    """Pre-training objective, and evaluation data."""

    eval_file: str | None = option(
        None,
        "input of --do_eval; default: held-out documents of the text, or --input_file",
        read=file_list_reader("eval_file"),
    )
    eval_share: float = remembered_option(
        0.05, "fraction of the documents held out for evaluation", lower=0.0, upper=0.9
    )
    no_nsp: bool | None = deciding_option(
        None,
        "train without next-sentence prediction; sequences made from text are then single texts; default: true for a "
        "model that predicts masked words and has no head for next sentences",
        remembered=True,
    )
    pack: bool | None = deciding_option(
        None,
        "join documents, with [SEP] between them, so that sequences are full; false: a sequence ends with its document; "
        "with --line_by_line: join lines, each as [CLS] line [SEP], as run_mlm.py does; default: true with --no_nsp, false "
        "with --line_by_line",
        remembered=True,
        needs="no_nsp=true",
        because="pairs of texts cannot be packed",
    )
    line_by_line: bool = deciding_option(
        False,
        "make each line a sequence, cut to --max_seq_length, as the same flag of run_mlm.py",
        remembered=True,
        needs="no_nsp=true",
        because="next sentences need documents of several lines",
    )

    def form(self, short_seq_prob: float) -> str:
        """Return the form of sequences from text: PAIRS, DOCUMENTS, PACKED, LINES or GROUPS.

        Raises:
            InputError: sequences should be both full and shorter.
        """
        if not self.no_nsp:
            return PAIRS
        if self.line_by_line:
            return GROUPS if self.pack else LINES
        if self.pack is False:
            return DOCUMENTS
        refuse_if(
            short_seq_prob not in (0.0, SHORT_SEQ_PROB),
            f"--short_seq_prob={short_seq_prob:g}: with --no_nsp, sequences are packed, so they are full; add --pack=false, "
            "or leave it out",
        )
        return PACKED


class Steps(FlagGroup, heading="Training"):
    """Number of pre-training steps."""

    num_train_steps: int | None = option(
        None, f"training steps; default: {NUM_TRAIN_STEPS}", lower=1, keeps_network=True
    )
    num_train_epochs: float | None = option(
        None,
        "passes over the sequences, instead of a number of steps; also fractions",
        above=0.0,
        upper=1e6,
        excludes="num_train_steps",
        keeps_data=True,
        keeps_network=True,
    )
    num_warmup_steps: int | None = deciding_option(
        None,
        f"warm-up steps; default: {NUM_WARMUP_STEPS}, or with --num_train_epochs a tenth of the steps",
        lower=0,
        keeps_network=True,
    )
    max_eval_steps: int = option(100, "maximum number of evaluation batches; 0: all, each sequence once", lower=0)

    def resolve(self, num_sequences: int, batch_size: int) -> tuple[int, int]:
        """Return the number of steps and of warm-up steps.

        Args:
            num_sequences: sequences in a pass over the data.
            batch_size: sequences per step.
        """
        if self.num_train_epochs is None:
            return self.num_train_steps or NUM_TRAIN_STEPS, self.fixed_warmup_steps or 0
        # An incomplete batch makes no step, as in fine-tuning.
        steps = max(1, int(num_sequences / batch_size * self.num_train_epochs))
        return steps, steps // 10 if self.num_warmup_steps is None else self.num_warmup_steps

    @property
    def fixed_warmup_steps(self) -> int | None:
        """Return the number of warm-up steps, None if it follows the number of steps."""
        if self.num_warmup_steps is None and self.num_train_epochs is None:
            return NUM_WARMUP_STEPS
        return self.num_warmup_steps


@dataclasses.dataclass(frozen=True)
class PretrainSettings(TrainingSettings):
    """Flags of bert-pretrain.

    num_train_steps and num_train_epochs are not in the manifest, because a finished run may be extended.
    """

    essential: ClassVar[tuple[str, ...]] = (
        "input_file", "eval_file", "no_nsp", "max_seq_length", "max_predictions_per_seq",
        "do_whole_word_mask", "init_checkpoint", "vocab_file", "bert_config_file", "do_lower_case",
        "do_train", "do_eval", "output_dir", "overwrite_output_dir", "dry_run", "train_batch_size",
        "learning_rate", "num_train_epochs", "num_train_steps", "num_warmup_steps", "random_seed", "save_checkpoints_steps",
        "eval_every",
    )  # fmt: skip
    modes: ClassVar[tuple[str, ...]] = ("do_train or do_eval",)
    recipe_flags: ClassVar[tuple[str, ...]] = ("learning_rate",)

    text_files: TextFiles = group(TextFiles)
    columns: Columns = group(Columns, CORPUS_COLUMNS, only=tuple(CORPUS_COLUMNS))
    data: DataFiles = group(DataFiles, CORPUS_TABLES, only=TABLE_FORM)
    files: Files = group(
        Files,
        {
            "input_file": "TFRecord files, text with one sentence per line, or tables: names or patterns, "
            "separated by commas; - for standard input"
        },
        only=("input_file",),
    )
    task: Pretraining = group(Pretraining)
    encoding: Encoding = group(
        Encoding,
        {"max_seq_length": "maximum sequence length in tokens; for TFRecords the length that they were made with"},
        only=("max_seq_length",),
    )
    masking: MaskedLM = group(
        MaskedLM,
        {"max_predictions_per_seq": "maximum number of masked tokens in a sequence; for TFRecords as they were made"},
    )
    model: ModelFiles = group(
        ModelFiles,
        {
            "init_checkpoint": "checkpoint to start from: of TF1, of Hugging Face, or an "
            "output_dir; random: random weights"
        },
        # Omit allow_unknown: many words in a text may be missing from a user's own vocabulary.
        without=("allow_unknown",),
        init_checkpoint=RANDOM,
    )
    hub: HubEncoder = group(HubEncoder, only=())  # a module cannot be pre-trained
    phases: Phases = group(
        Phases,
        {
            "do_train": {"help": "train", "needs": "input_file"},
            # An evaluation may use another text than the training.
            "do_eval": {"help": "evaluate", "needs": "input_file or eval_file"},
            "output_dir": {"required": True},
        },
        output_dir="",
    )
    # There is no prediction phase.
    inference: Inference = group(
        Inference, {"eval_batch_size": "batch size of the evaluation"}, only=("eval_batch_size",)
    )
    training: Training = group(
        Training,
        {
            "train_batch_size": "training batch size in sequences, over all devices",
            "learning_rate": "peak learning rate",
        },
        learning_rate=5e-5,
    )
    steps: Steps = group(Steps)
    early_stopping: EarlyStoppingFlags = group(EarlyStoppingFlags)
    page: ReportPage = group(ReportPage)
    rates: LayerRates = group(LayerRates, without=LORA_FLAGS)
    optimization: Optimization = group(Optimization)
    dropout: Dropout = group(Dropout)
    head: HeadInput = group(HeadInput, only=())  # pre-training heads have no dropout
    loss: Loss = group(
        Loss,
        {
            "label_smoothing": "label smoothing: fraction of the target spread evenly over the "
            "vocabulary, and over both classes of next sentences"
        },
        without=("class_weights",),
    )
    sweep: Sweep = group(Sweep, only=("num_runs",))
    seed: Seed = group(Seed, {"random_seed": "seed of the instances, shuffling, dropout and new weights"})
    saving: Saving = group(Saving)
    devices: Devices = group(Devices, {"precision": WITHOUT_INT8, "engine": WITHOUT_ENGINES}, without=("batch_size",))
    log: Log = group(Log)
