"""The flags of the commands of pre-training: bert-create-pretraining-data, bert-pretrain, bert-build-vocab, bert-fill-mask."""

import dataclasses
import shlex
from typing import ClassVar

from bert_cli.base.errors import InputError
from bert_cli.base.names import RANDOM
from bert_cli.flags.option import FlagGroup, deciding, group, option, remembered
from bert_cli.settings.controls import Head, Loss
from bert_cli.settings.devices import Devices
from bert_cli.settings.groups import Encoding, Files, Hub, Inference, Log, ModelFiles, Phases, Processes, TextFiles
from bert_cli.settings.training import Seed, Sweep, Training, TrainingSettings

WORDPIECE, WORDS = "wordpiece", "words"  # of --algorithm
VOCAB_SIZE = 30522  # of a new vocabulary; with --extend there is no default
_CASING = "lower-case the text and strip accents; false for a cased model"


class MaskedLM(FlagGroup, heading="Masked words"):
    """The masked-LM objective."""

    max_predictions_per_seq: int = deciding(20, "most masked tokens in a sequence", lower=1, remembered=True)
    masked_lm_prob: float = remembered(0.15, "share of the tokens that is masked")
    do_whole_word_mask: bool = remembered(False, "mask all pieces of a word or none")
    short_seq_prob: float = remembered(0.1, "share of the documents made into shorter sequences", lower=0.0, upper=1.0)


class TextVocabulary(FlagGroup, heading="Files"):
    """The vocabulary that text is tokenized with."""

    vocab_file: str = option("", "vocab.txt of the model")
    do_lower_case: bool = option(True, _CASING)


class Instances(FlagGroup, heading="Instances"):
    """How many pre-training instances a text gives."""

    dupe_factor: int = option(10, "passes over the text, each with other pairs and masks", lower=1)
    num_shards: int = option(
        0,
        "with --num_workers or --runner: into how many pieces the work is divided, each with a seed of its own; 0: 16, or "
        "more for a large corpus. Shard s goes to output file s modulo their number",
        lower=0,
    )


def read_options(text: str) -> tuple[str, ...]:
    """The words of --beam_options. InputError where a quote does not end, or --runner is among them."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(f"--beam_options={text}: {error}") from None
    # Two runners in one command: Beam would take the last one silently.
    if any(word.partition("=")[0] == "--runner" for word in words):
        raise InputError("--beam_options: give the runner as --runner itself")
    return words


class Beam(FlagGroup, heading="Apache Beam"):
    """Work that Apache Beam spreads over machines."""

    runner: str | None = option(
        None,
        "make the instances with Apache Beam (pip install 'bert_cli[beam]'): direct in this process, dataflow, flink or spark "
        "on many machines. For the same --random_seed and --num_shards the records are those of --num_workers",
        choices=("direct", "dataflow", "flink", "spark"),
    )
    beam_options: tuple[str, ...] = option(
        (),
        "Beam's own options, in quotes, such as '--project=P --region=R --temp_location=gs://B/tmp'",
        read=read_options,
        write=shlex.join,
    )


@dataclasses.dataclass(frozen=True)
class CreateDataSettings:
    """The flags of bert-create-pretraining-data."""

    text_files: TextFiles = group(TextFiles)
    files: Files = group(
        Files,
        {
            "input_file": "text files, one sentence a line, blank lines between documents: names or patterns such as "
            "'text/*.txt' with commas between, - for standard input; gzip is recognized",
            "output_file": "TFRecord files with commas between; name@8 stands for name-00000-of-00008 to "
            "name-00007-of-00008",
        },
        without=("shard",),
    )
    vocabulary: TextVocabulary = group(TextVocabulary)
    encoding: Encoding = group(
        Encoding, {"max_seq_length": {"help": "longest sequence in tokens", "lower": None}}, only=("max_seq_length",)
    )
    masking: MaskedLM = group(MaskedLM)
    instances: Instances = group(Instances)
    seed: Seed = group(Seed, {"random_seed": {"help": "seed of all that is drawn", "lower": None}})
    workers: Processes = group(
        Processes,
        {
            "num_workers": "processes that share the work; 0: Google's records, made one after the other, and a document "
            "goes on from one file into the next; 1 or more: a document ends with its file"
        },
    )
    beam: Beam = group(Beam)
    log: Log = group(Log)


class Pretraining(FlagGroup, heading="Data"):
    """The objective of pre-training, and what is held out."""

    eval_file: str | None = option(
        None, "the same for --do_eval; default: held-out documents of the text, or --input_file"
    )
    eval_share: float = remembered(0.05, "share of a text's documents held out for evaluation", lower=0.0, upper=0.9)
    no_nsp: bool = deciding(
        False, "leave next-sentence prediction out; from text, sequences are then single texts", remembered=True
    )


class Steps(FlagGroup, heading="Training"):
    """How long a model is pre-trained."""

    num_train_steps: int = option(100000, "training steps", lower=1)
    num_warmup_steps: int = deciding(10000, "steps in which the learning rate rises", lower=0)
    max_eval_steps: int = option(100, "most batches that are evaluated; 0 for all, each sequence once", lower=0)


@dataclasses.dataclass(frozen=True)
class PretrainSettings(TrainingSettings):
    """The flags of bert-pretrain. num_train_steps decides nothing: a run may be made longer."""

    essential: ClassVar[tuple[str, ...]] = (
        "input_file", "eval_file", "no_nsp", "max_seq_length", "max_predictions_per_seq",
        "do_whole_word_mask", "init_checkpoint", "vocab_file", "bert_config_file", "do_lower_case",
        "do_train", "do_eval", "output_dir", "overwrite_output_dir", "dry_run", "train_batch_size",
        "learning_rate", "num_train_steps", "num_warmup_steps", "random_seed", "save_checkpoints_steps",
        "eval_every",
    )  # fmt: skip

    text_files: TextFiles = group(TextFiles)
    files: Files = group(
        Files,
        {
            "input_file": "TFRecord files, or text, a sentence a line: names or patterns with commas between, - for stdin"
        },
        only=("input_file",),
    )
    task: Pretraining = group(Pretraining)
    encoding: Encoding = group(
        Encoding,
        {"max_seq_length": "longest sequence in tokens; for TFRecords, what they were made with"},
        only=("max_seq_length",),
    )
    masking: MaskedLM = group(
        MaskedLM, {"max_predictions_per_seq": "most masked tokens in a sequence; for TFRecords, as made"}
    )
    model: ModelFiles = group(
        ModelFiles,
        {
            "init_checkpoint": "a checkpoint to go on from: of TF1, of Hugging Face, or an output_dir; random: random weights"
        },
        # The vocabulary is often one of the user's own words, of which a text may have few.
        without=("allow_unknown",),
        init_checkpoint=RANDOM,
    )
    hub: Hub = group(Hub, only=())  # it starts from no module
    head: Head = group(Head, only=())  # its heads have no dropout
    phases: Phases = group(Phases, {"do_train": "train", "do_eval": "evaluate"}, output_dir="")
    # It predicts nothing.
    inference: Inference = group(
        Inference, {"eval_batch_size": "sequences in a batch of the evaluation"}, only=("eval_batch_size",)
    )
    training: Training = group(
        Training,
        {"train_batch_size": "sequences in a training batch, over all devices", "learning_rate": "peak learning rate"},
        learning_rate=5e-5,
    )
    steps: Steps = group(Steps)
    loss: Loss = group(
        Loss,
        {
            "label_smoothing": "share of each masked word that is spread evenly over the vocabulary; next sentences alike"
        },
        without=("class_weights",),
    )
    sweep: Sweep = group(Sweep, only=("num_runs",))
    seed: Seed = group(Seed, {"random_seed": "seed of the instances, shuffling, dropout and new weights"})


class VocabularySize(FlagGroup, heading="Vocabulary"):
    """What a new vocabulary holds."""

    algorithm: str = option(
        WORDPIECE,
        f"{WORDPIECE}: characters, words and pieces of words, so that any word of these characters can be written; "
        f"{WORDS}: the most frequent words as they are, and every other word is [UNK]",
        choices=(WORDPIECE, WORDS),
    )
    extend: str | None = option(
        None, "an existing vocabulary: words go into its [unusedN] places instead of into a new vocabulary", file=True
    )
    add_special_tokens: bool = option(
        False,
        "with --extend: add the special tokens that the vocabulary lacks, such as [UNK], at its end, so that its ids stay; "
        "without --input_file nothing else is added",
    )
    vocab_size: int | None = option(
        None,
        f"most tokens of the vocabulary; there are fewer where the text is small; default: {VOCAB_SIZE}. With --extend: "
        "words are added at the end up to this size, and none without this flag",
        lower=1,
    )
    do_lower_case: bool = option(True, _CASING)
    reserved_tokens: tuple[str, ...] = option(
        (),
        "further tokens, with commas between, that follow [PAD] [UNK] [CLS] [SEP] [MASK], such as [unused0],[unused1]",
        read=lambda text: tuple(text.split(",")),
        write=",".join,
    )
    min_count: int = option(2, "fewest occurrences in the text of a word or piece that gets a token", lower=1)


@dataclasses.dataclass(frozen=True)
class BuildVocabSettings:
    """The flags of bert-build-vocab."""

    text_files: TextFiles = group(TextFiles)
    files: Files = group(
        Files,
        {
            "input_file": "text files: names or patterns such as 'text/*.txt' with commas between, - for standard input; "
            "gzip is recognized",
            "output_file": "the vocabulary to write",
        },
        without=("shard",),
        output_file="vocab.txt",
    )
    size: VocabularySize = group(VocabularySize)
    workers: Processes = group(
        Processes, {"num_workers": {"help": "processes that count words", "lower": 1}}, num_workers=1
    )
    log: Log = group(Log)


class Candidates(FlagGroup, heading="Texts"):
    """Texts with masked words, and how many candidates each word gets."""

    texts: tuple[str, ...] = option((), "texts, or two with ' ||| ' between, each in quotes", words=True)
    top_k: int = option(5, "candidates for each [MASK]", lower=1)


@dataclasses.dataclass(frozen=True)
class FillMaskSettings:
    """The flags of bert-fill-mask."""

    essential: ClassVar[tuple[str, ...]] = (
        "texts", "top_k", "input_file", "output_file", "init_checkpoint", "vocab_file", "bert_config_file",
        "do_lower_case", "strict", "batch_size", "precision", "quiet", "verbose",
    )  # fmt: skip

    candidates: Candidates = group(
        Candidates, {"texts": "texts with [MASK] in them, or two texts with ' ||| ' between, each in quotes"}
    )
    text_files: TextFiles = group(TextFiles)
    files: Files = group(
        Files,
        {
            "input_file": "a file with a text a line, - for standard input; the answers are JSON lines",
            "output_file": "file for the JSON lines, - for standard output",
        },
        without=("shard",),
        output_file="-",
    )
    model: ModelFiles = group(
        ModelFiles,
        {
            "init_checkpoint": "a pre-trained model: output_dir of bert-pretrain, a TF1 checkpoint, or a Hugging Face folder "
            "with masked-LM head; default: the built-in model, or bert_output where the package holds none",
            "vocab_file": "vocab.txt; default: beside the checkpoint",
            "bert_config_file": "bert_config.json; default: beside the checkpoint",
        },
        without=("allow_unknown",),
    )
    devices: Devices = group(Devices)
    log: Log = group(Log)
