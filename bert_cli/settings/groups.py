"""The groups of flags that many commands share, each flag declared once: files, model, phases, evaluation and prediction."""

from collections.abc import Callable

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.lines import UTF_8, read_encoding
from bert_cli.base.names import RANDOM
from bert_cli.flags.option import FlagGroup, deciding, option, passing, remembered

# Tokens that predictions compute at once: with fewer, products are slower by a third, and so many take little memory.
LEAST_TOKENS = 4096
AT_LEAST = f"at least {LEAST_TOKENS:,} tokens are computed at once"
ALL = "all"  # of --shard
TRUNCATE, HEAD_TAIL, WINDOWS = "truncate", "head_tail", "windows"
TUNED = "tuned"
# Of --layers: its grammar for --help, and what commands read by themselves.
LAYERS = "numbers from 0 or from -1 back, ranges with both ends such as -4:-1 or 1-3, 'embedding', 'all'"
LAST_LAYER, LAST_LAYERS = "-1", "-1,-2,-3,-4"
OF_TEXT = "--text"  # of --explain: the text is that of --text
_ONCE = "give it once; of several texts each is a line of --input_file"
DECODINGS = ("argmax", "viterbi")


def names_of(flag: str, least: int) -> dict[str, Callable]:
    """For an option that takes names with commas between; InputError unless there are `least` or more, all different."""

    def read(text: str) -> tuple[str, ...]:
        names = tuple(name.strip() for name in text.split(","))
        wanted = f"--{flag}={text}: two or more different names" if least > 1 else f"--{flag}={text}: different names"
        are_wrong = len(names) < least or "" in names or len(set(names)) < len(names)
        refuse_if(are_wrong, f"{wanted} with commas between are needed")
        return names

    return {"read": read, "write": ",".join}


def check_share(flag: str, value: float) -> None:
    """InputError unless 0 < value <= 1: the bounds of options take both ends in."""
    refuse_if(not 0 < value <= 1, f"--{flag}={value}: a number above 0 and up to 1 is needed")


def read_shard(text: str) -> tuple[int, int] | None:
    """(i, n) of i/n, None for ALL. InputError for another text."""
    if text == ALL:
        return None
    number, slash, count = text.partition("/")
    # isdecimal, as int takes signs, blanks and underscores, too.
    if not (slash and number.isdecimal() and count.isdecimal() and int(number) < int(count)):
        raise InputError(f"--shard={text}: i/n is needed, with i from 0 to n - 1 such as 0/4, or {ALL}")
    return int(number), int(count)


class Files(FlagGroup, heading="Files"):
    """What a command reads and writes, and which of several input files a process takes."""

    input_file: str = option("", "the file to read, - for standard input")
    output_file: str = passing("", "the file to write, - for standard output")
    shard: tuple[int, int] | None = passing(
        None,
        "which of several input files, sorted by name, this process takes: i/n those at i, i + n, i + 2n and so on, from 0; "
        f"{ALL}, the default: all of them, or where TF_CONFIG names several processes its own share. What is finished is not "
        "computed again",
        read=read_shard,
        usual=(ALL,),
    )


class TextFiles(FlagGroup, heading="Data"):
    """How the text files are written that a user gives."""

    encoding: str = option(
        UTF_8,
        "encoding of the text files that are read, such as latin-1, cp1252 or utf-16",
        read=read_encoding,
        usual=(UTF_8, "latin-1", "cp1252", "utf-16"),
    )


class NewText(FlagGroup, heading="What to do"):
    """One text to answer with a trained model."""

    text: str = passing("", "answer this text with a trained model and print the result", once=_ONCE)
    explain: str = passing(
        "",
        "classify this text, or alone the one of --text, and show which of its words mattered; colours on a terminal, "
        "else JSON",
        alone=OF_TEXT,
        once=_ONCE,
    )
    text_b: str = passing("", "the second text of a pair whose first is --text", once=_ONCE)


class Encoding(FlagGroup, heading="Data"):
    """How examples become the input of a model: the order of the labels, and how long a sequence is."""

    labels: tuple[str, ...] | None = option(
        None,
        "labels in the order of the output columns, such as 0,1,2; default: those of train.tsv",
        # A name with a comma cannot be given as a flag; such labels come from the data and are found there again.
        **names_of("labels", 1),
    )
    max_seq_length: int = deciding(128, "longest input in tokens; what is longer is cut", lower=1, remembered=True)
    long_text: str = deciding(
        TRUNCATE,
        "of texts longer than max_seq_length: truncate cuts their ends off; head_tail keeps the first quarter and the last "
        "three (Sun et al., 2019); windows cuts nothing: windows that overlap by half, whose logits are averaged",
        choices=(TRUNCATE, HEAD_TAIL, WINDOWS),
        remembered=True,
    )


class ModelFiles(FlagGroup, heading="Model"):
    """The model that a command starts from, and the files that belong to it."""

    init_checkpoint: str = option(
        "",
        "a TF1 checkpoint (prefix, file or folder), a Hugging Face folder, or an output_dir; random: train from random "
        "weights; default: the built-in model",
        path=True,
        usual=(RANDOM,),
    )
    vocab_file: str | None = option(None, "vocab.txt; default: beside the checkpoint, or the built-in one", path=True)
    bert_config_file: str | None = option(
        None, "bert_config.json; default: beside the checkpoint, or the built-in one", path=True
    )
    do_lower_case: bool | None = option(
        None,
        "lower-case the text and strip accents; false for a cased model; default: as the model was trained, else true",
    )
    strict: bool = passing(
        False,
        "what speaks against the model's files (casing, size of the vocabulary, many unknown words) is an error, not a "
        "warning",
    )
    allow_unknown: bool = passing(
        False, "go on where the vocabulary lacks more than half of the words of a file, which is an error otherwise"
    )
    gelu: str = remembered(
        "auto", "form of gelu; auto: tanh for Google's config, erf for Hugging Face's", choices=("auto", "erf", "tanh")
    )


class Hub(FlagGroup, heading="Model"):
    """An encoder for tensorflow-hub in place of --init_checkpoint."""

    hub_module: str | None = option(
        None,
        "instead of --init_checkpoint an encoder for tensorflow-hub: a folder, a .tar.gz, or a URL, which tensorflow-hub "
        "downloads and keeps; one that is no BERT is run as it is",
        path=True,
    )
    hub_preprocess: str | None = option(
        None, "the preprocessor that belongs to it, for vocabulary and casing; default: as --hub_module says", path=True
    )
    hub_trainable: bool = deciding(True, "train the module too; false trains only what stands on top of it")


class Phases(FlagGroup, heading="What to do"):
    """What a run does, and the directory that it writes to."""

    dry_run: bool = passing(
        False,
        "with --do_train: read everything, train a few steps in memory, say how much time and memory the run will take, and "
        "write nothing; it also says what is in the data: lengths, unknown words, duplicates, leaks, conflicting labels",
    )
    do_train: bool = option(False, "train on the training data")
    do_eval: bool = option(False, "evaluate on the data held out for it")
    output_dir: str = option("bert_output", "folder for checkpoints and results", path=True)
    overwrite_output_dir: bool = passing(
        False,
        "start over where output_dir holds another run; an interrupted run that this flag began goes on instead",
    )


def read_threshold(text: str) -> str:
    """The value of --threshold. InputError for one that is neither TUNED nor a probability."""
    try:
        is_right = text == TUNED or 0 <= float(text) <= 1
    except ValueError:
        is_right = False
    refuse_if(not is_right, f"--threshold={text}: a number from 0 to 1 is needed, or {TUNED}")
    return text


class Inference(FlagGroup, heading="What to do"):
    """How a run evaluates and predicts, and what it writes of it."""

    do_predict: bool = option(False, "predict the test file")
    predict_batch_size: int = option(8, f"examples in a batch of the prediction; {AT_LEAST}", lower=1)
    threshold: str = remembered(
        "0.5",
        "of labels that do not exclude each other: the probability from which on a text has one; tuned: for each label the "
        "one with the best F1 on the dev file, which --do_eval writes to thresholds.json",
        read=read_threshold,
    )
    output_format: str = option(
        "tsv",
        "predictions.tsv, predictions.csv, or predictions.jsonl with an object a line",
        choices=("tsv", "csv", "jsonl"),
    )
    glue_submission: bool = option(
        False, "write the predictions also as gluebenchmark.com takes them: CoLA.tsv, MNLI-m.tsv, …"
    )

    eval_batch_size: int = option(8, f"examples in a batch of the evaluation; {AT_LEAST}", lower=1)
    decoding: str = option(
        "argmax",
        "argmax: the most probable tag of each word; viterbi: the most probable sequence in which no I- follows another "
        "type",
        choices=DECODINGS,
    )

    @property
    def is_default_threshold(self) -> bool:
        return self.threshold == Inference.threshold


class Processes(FlagGroup, heading="Work"):
    """Processes of one command."""

    num_workers: int = option(0, "processes that share the work", lower=0)


class Log(FlagGroup, heading="Log"):
    """What a command says while it works."""

    quiet: bool = passing(False, "log warnings and results only, and show no progress")
    verbose: bool = passing(False, "log five examples of each file, with their ids, mask and segments")
