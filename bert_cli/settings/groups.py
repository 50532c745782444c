"""Flag groups that many commands share: files, model, phases, evaluation and prediction."""

from typing import Any

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import parse_number
from bert_cli.base.log import JSON, LEVELS, TEXT
from bert_cli.base.names import HEAD_TAIL, RANDOM, STANDARD, TRUNCATE, WINDOWS
from bert_cli.base.recoding import UTF_8, read_encoding
from bert_cli.flags.option import FlagGroup, deciding_option, option, remembered_option, transient_option
from bert_cli.flags.paths import file_list_reader, name_list_properties

# Predictions compute at least this many tokens together: fewer make matrix products slower by a
# third (measured), and this number needs little memory.
LEAST_TOKENS = 4096
AT_LEAST = f"at least {LEAST_TOKENS:,} tokens are computed at once"
ALL = "all"  # value of --shard
TUNED = "tuned"
# Grammar of --layers for --help, and default layers.
LAYERS = "numbers from 0 or from -1 back, ranges with both ends such as -4:-1 or 1-3, 'embedding', 'all'"
LAST_LAYER, LAST_LAYERS = "-1", "-1,-2,-3,-4"
EXPLAIN_TEXT = "--text"  # value of --explain for the text in --text
_ONCE = "give it once; several texts are lines of --input_file"
DECODINGS = ("argmax", "viterbi")
TOP_K = 5  # default number of candidates for each [MASK]


def read_shard(text: str) -> tuple[int, int]:
    """Return (i, n) for the text i/n, or (0, 1) for ALL; raise InputError for other texts."""
    if text == ALL:
        return 0, 1
    number, slash, count = text.partition("/")
    # Use isdecimal: int would also accept signs, spaces and underscores.
    if not (slash and number.isdecimal() and count.isdecimal() and int(number) < int(count)):
        raise InputError(f"--shard={text}: i/n is needed, with i from 0 to n - 1 such as 0/4, or {ALL}")
    return int(number), int(count)


# Properties of --output_file in commands that can train.
OF_INPUT_FILE: dict[str, Any] = {
    "needs": "input_file",
    "because": "--output_dir takes the results of --do_predict",
}
TABLE_FORMATS = ("tsv", "csv", "jsonl")  # formats of predictions; outputs/classification.py writes them


class Files(FlagGroup, heading="Files"):
    """Input and output files, and which input files this process handles."""

    input_file: str = option(
        "", "the file to read, - for standard input", read=file_list_reader("input_file"), python_argument=False
    )
    output_file: str = transient_option("", "the file to write, - for standard output", python_argument=False)
    line_buffered: bool = transient_option(
        False,
        "answer each line of --input_file by itself; not needed for a pipe, whose lines are answered as they come",
        needs="input_file",
    )
    shard: tuple[int, int] | None = transient_option(
        None,
        "shard of the input files for this process, as i/n; files are sorted by name, and i/n "
        f"takes the files i, i + n, i + 2n, … from 0; {ALL}: all files; default: all files, or with "
        "TF_CONFIG this process's shard; finished files are not computed again",
        read=read_shard,
        suggestions=(ALL,),
    )

    @property
    def come_together(self) -> bool:
        """Return whether the texts come from files and not one by one, as from a pipe."""
        return self.input_file not in ("", STANDARD) and not self.line_buffered


class TextFiles(FlagGroup, heading="Data"):
    """Form of the user's text files."""

    encoding: str = option(
        UTF_8,
        "encoding of the input text files, such as latin-1, cp1252 or utf-16",
        read=read_encoding,
        suggestions=(UTF_8, "latin-1", "cp1252", "utf-16"),
        decides_predictions=True,
    )


class NewText(FlagGroup, heading="Mode"):
    """A single text to answer with a trained model."""

    text: str = transient_option(
        "",
        "classify, tag or answer this text with a trained model and print the result",
        repeat_advice=_ONCE,
        python_argument=False,
    )
    explain: str = transient_option(
        "",
        "classify this text, or the one in --text, and show the contribution of each word; colours on a "
        "terminal, else JSON",
        implicit_value=EXPLAIN_TEXT,
        repeat_advice=_ONCE,
        needs={f"={EXPLAIN_TEXT}": "text"},
        excludes={f"!={EXPLAIN_TEXT}": "text"},
        because={"text": "it is the text to explain"},
    )
    text_b: str = transient_option(
        "",
        "second text of a pair, with --text as the first",
        repeat_advice=_ONCE,
        needs="text or explain",
        python_argument=False,
    )

    @property
    def text_to_explain(self) -> str:
        """Return the text in --explain, or in --text if --explain has no value."""
        return self.text if self.explain == EXPLAIN_TEXT else self.explain


class Encoding(FlagGroup, heading="Data"):
    """Label order, and the sequence length that the model gets."""

    labels: tuple[str, ...] | None = option(
        None,
        "labels in the order of the output columns, such as 0,1,2; default: the labels of the training data",
        # Labels with a comma cannot be given as a flag, but they are detected again in the data.
        **name_list_properties("labels", 1),
    )
    max_seq_length: int = deciding_option(
        128,
        "maximum sequence length in tokens; longer texts are truncated; predictions of another program's model use the "
        "model's own length",
        lower=1,
        remembered=True,
        decides_predictions=True,
    )
    long_text: str = deciding_option(
        TRUNCATE,
        "treatment of texts longer than max_seq_length; truncate: drop the end; head_tail: keep "
        "the first quarter and the last three quarters of max_seq_length (Sun et al., 2019); "
        "windows: average the logits of windows that overlap by half",
        choices=(TRUNCATE, HEAD_TAIL, WINDOWS),
        remembered=True,
        decides_predictions=True,
    )


class ModelFiles(FlagGroup, heading="Model"):
    """Model that a command starts from, with its vocabulary and config."""

    init_checkpoint: str = option(
        "",
        "model to start from: a TF1 checkpoint (prefix, file or directory), a Hugging Face "
        "directory, an output_dir, or hf:OWNER/NAME on Hugging Face's hub; random: random weights; "
        "default: the built-in model",
        path=True,
        suggestions=(RANDOM,),
    )
    vocab_file: str | None = option(
        None,
        "vocabulary, vocab.txt or tokenizer.json; default: next to the checkpoint, or the built-in model's",
        path=True,
    )
    bert_config_file: str | None = option(
        None, "model config, bert_config.json; default: next to the checkpoint, or the built-in model's", path=True
    )
    do_lower_case: bool | None = option(
        None,
        "lower-case the text and strip accents; false for a cased model; default: as in the "
        "training of the model, else true",
    )
    strict: bool = transient_option(
        False,
        "make doubts about the model's files (casing, size of the vocabulary, many unknown words) "
        "errors instead of warnings",
    )
    allow_unknown: bool = transient_option(
        False, "accept a file with more than half of its words unknown to the vocabulary; an error otherwise"
    )
    gelu: str = remembered_option(
        "auto",
        "form of GELU; auto: tanh with Google's config, erf with Hugging Face's",
        choices=("auto", "erf", "tanh"),
        decides_predictions=True,
    )


_OF_TRAINED_ENCODER = ("freeze_layers", "layerwise_lr_decay", "hidden_dropout_prob", "attention_dropout_prob")


class HubEncoder(FlagGroup, heading="Model"):
    """A tensorflow-hub encoder instead of --init_checkpoint."""

    hub_module: str | None = option(
        None,
        "tensorflow-hub encoder instead of --init_checkpoint: a directory, a .tar.gz, or a URL "
        "that tensorflow-hub downloads and caches; an encoder other than BERT is used unchanged",
        path=True,
        # Without training, both may be given: a model
        # that was trained on a module, and this module.
        excludes="init_checkpoint with do_train",
        because="both name a model to start from",
        decides_predictions=True,
    )
    hub_preprocess: str | None = option(
        None,
        "tensorflow-hub preprocessor for vocabulary and casing; default: the preprocessor that --hub_module names",
        path=True,
    )
    hub_trainable: bool = deciding_option(
        True,
        "train the module too; false: train only the head",
        needs={"=false": "hub_module"},
        excludes={"=false": _OF_TRAINED_ENCODER},
        because=dict.fromkeys(_OF_TRAINED_ENCODER, "the whole encoder is frozen"),
    )


class Phases(FlagGroup, heading="Mode"):
    """Phases that a run has, and its output directory."""

    dry_run: bool = transient_option(
        False,
        "estimate time and memory of --do_train from a few steps, and write nothing; also reports "
        "statistics of the data: lengths, unknown words, duplicates, leaks, conflicting labels",
        needs="do_train",
        python_argument=False,
    )
    do_train: bool = option(False, "train on the training data", python_argument=False)
    do_eval: bool = option(False, "evaluate on the dev data", python_argument=False, keeps_network=True)
    output_dir: str = option(
        "bert_output",
        "directory for checkpoints and results",
        path=True,
        python_argument=False,
        keeps_data=True,
        keeps_network=True,
    )
    overwrite_output_dir: bool = transient_option(
        False,
        "start over if output_dir holds another run; an interrupted run that began with this flag is resumed instead",
        keeps_data=True,
        keeps_network=True,
    )


def read_threshold(text: str) -> str:
    """Return the text of --threshold; raise InputError unless it is TUNED or a probability."""
    is_valid = text == TUNED or 0 <= parse_number(text) <= 1
    refuse_if(not is_valid, f"--threshold={text}: a number from 0 to 1 is needed, or {TUNED}")
    return text


class Inference(FlagGroup, heading="Mode"):
    """Flags for evaluation and prediction, and the files that they write."""

    do_predict: bool = option(False, "predict the test file", python_argument=False, keeps_network=True)
    predict_batch_size: int = option(8, f"batch size of the prediction; {AT_LEAST}", lower=1)
    threshold: str = remembered_option(
        "0.5",
        "multi-label, or two labels: predict a label, or the label of --positive_label, if its probability is at "
        "least this; tuned: pick the threshold of each label by its F1 on the dev set, with --do_eval, which writes "
        "thresholds.json",
        read=read_threshold,
    )
    output_format: str = option(
        "tsv",
        "format of the predictions: predictions.tsv, predictions.csv or predictions.jsonl",
        choices=TABLE_FORMATS,
        python_argument=False,
        decides_predictions=True,
        of_tables=True,
    )
    glue_submission: bool = option(
        False,
        "also write the predictions in the format of gluebenchmark.com: CoLA.tsv, MNLI-m.tsv, …",
        python_argument=False,
    )

    eval_batch_size: int = option(8, f"batch size of the evaluation; {AT_LEAST}", lower=1)
    decoding: str = option(
        "argmax",
        "decoding of the tags; argmax: the most probable tag of each word; viterbi: the most "
        "probable sequence in which I- never follows another type",
        choices=DECODINGS,
    )

    @property
    def is_default_threshold(self) -> bool:
        """Return whether --threshold has its default value."""
        return self.threshold == Inference.threshold


class Processes(FlagGroup, heading="Processes"):
    """Number of processes in one command."""

    num_workers: int = option(0, "processes that share the work", lower=0)


_OF_ABSL = "accepted for scripts with flags of absl, without effect"


class Log(FlagGroup, heading="Log"):
    """Flags for the log, and flags of absl's log that Google's scripts have."""

    quiet: bool = transient_option(
        False,
        "log only warnings and results, without progress",
        excludes=("verbose", "log_level"),
        python_argument=False,
    )
    verbose: bool = transient_option(
        False,
        "also log five examples of each file, with ids, mask and segments",
        excludes="log_level",
        python_argument=False,
    )
    log_format: str = transient_option(
        TEXT,
        "format of the log; text: plain lines; json: one object per line, with time and level",
        choices=(TEXT, JSON),
        python_argument=False,
    )
    log_level: str | None = transient_option(
        None,
        "least level of the log lines; notice: results and warnings, as --quiet; debug: as --verbose; default: info",
        choices=tuple(LEVELS),
        python_argument=False,
    )
    verbosity: str = option("", _OF_ABSL, ignored=True, may_be_empty=True)
    v: str = option("", _OF_ABSL, ignored=True, may_be_empty=True)
    logtostderr: bool = option(False, _OF_ABSL, ignored=True)
    alsologtostderr: bool = option(False, _OF_ABSL, ignored=True)
    stderrthreshold: str = option("", _OF_ABSL, ignored=True, may_be_empty=True)
    log_dir: str = option("", _OF_ABSL, ignored=True, may_be_empty=True)
    logger_levels: str = option("", _OF_ABSL, ignored=True, may_be_empty=True)
    showprefixforinfo: bool = option(False, _OF_ABSL, ignored=True)
