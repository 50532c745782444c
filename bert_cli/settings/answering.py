"""Flag groups that decide the answers of trained models, in commands, Python and the server."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from bert_cli.base.errors import refuse_if
from bert_cli.base.names import HEAD_TAIL, MODULES, STANDARD, TRUNCATE, WINDOWS
from bert_cli.base.pooling import NONE, POOLINGS, read_pooling
from bert_cli.flags.option import FlagGroup, build, deciding_option, every_flag, group, option, remembered_option
from bert_cli.flags.refusals import check_rules
from bert_cli.flags.values import convert_value
from bert_cli.settings.groups import LAST_LAYER, LAST_LAYERS, LAYERS, Encoding, ModelFiles

# Names of --task_name, which are compared in lower case.
TASK_NAMES = ("cola", "sst-2", "mrpc", "sts-b", "qqp", "mnli", "qnli", "rte", "wnli", "ax", "xnli", "swag")
SUBMITTED = ("cola", "sst-2", "mrpc", "sts-b", "qqp", "mnli", "qnli", "rte", "wnli", "ax")  # with a leaderboard
LANGUAGES = (
    "ar",
    "bg",
    "de",
    "el",
    "en",
    "es",
    "fr",
    "hi",
    "ru",
    "sw",
    "th",
    "tr",
    "ur",
    "vi",
    "zh",
)  # of XNLI


# Properties of --max_seq_length for vectors.
OWN_LENGTH: dict[str, Any] = {
    "help": "maximum sequence length in tokens, with [CLS] and [SEP]; longer texts are truncated; 0: the length in the "
    "model's files, or all its positions; after a training of bert_cli 128",
    "lower": 0,
}


class Classification(FlagGroup, heading="Data"):
    """Task of bert-classify."""

    task_name: str = deciding_option(
        "",
        "task of GLUE, or another: cola (four columns, any labels), sst-2, mrpc, sts-b, qqp, "
        "mnli, qnli, rte, wnli, ax, xnli or swag; not given for your own files",
        remembered=True,
        read=str.lower,
        suggestions=TASK_NAMES,
        decides_predictions=True,
        of_tables=True,
    )
    language: str = remembered_option("zh", "language of xnli, such as en or de", choices=LANGUAGES)


TAG_SCHEMES = ("BIO", "IOB1", "BIOES", "BMES", "BMEWO", "BILOU", "IO")
# Tag for a person's first word. The letter may be lowercase, and the separator may be any sign or
# missing.
TAG_FORM = re.compile(r"(?P<first>[Bb])(?P<after>[^\w\s]|_|)PER|PER(?P<before>[^\w\s]|_)(?P<last>[Bb])")
# Formats for records with a list of spans; examples.annotations.span_lists has their keys.
SPAN_FORMATS = (
    DOCCANO, DOCCANO_LABELS, DOCCANO_RELATIONS, DOCCANO_ANNOTATIONS, PRODIGY, SPACY, SPACY_DOC,
) = (
    "doccano", "doccano_labels", "doccano_relations", "doccano_annotations", "prodigy", "spacy",
    "spacy_doc",
)  # fmt: skip


def window_stride(doc_stride: int | None, max_seq_length: int) -> int:
    """Return the number of word pieces from one window's start to the next.

    Args:
        doc_stride: --doc_stride; None means half a window.
        max_seq_length: window length in word pieces.
    """
    return doc_stride or max(1, max_seq_length // 2)


def read_tag_form(text: str) -> str:
    """Return the text of --tag_form; raise InputError if it is not a form for tags."""
    needed = "the tag of the first word of a PER is needed, such as B-PER, B_PER or PER-B, or auto"
    refuse_if(text != "auto" and not TAG_FORM.fullmatch(text), f"--tag_form={text}: {needed}")
    return text


class Tagging(FlagGroup, heading="Data"):
    """Data of bert-tag, and the windows that sentences are cut into."""

    word_column: str | None = remembered_option(
        None,
        "column of the words: its name in a header or in JSON, or its number from 0, -1 for the last; default: a usual "
        "name such as word or token, else the first column",
    )
    tag_column: str | None = remembered_option(
        None,
        "column of the tags, as --word_column; default: a usual name such as tag or ner_tags, else the last column",
    )
    tag_scheme: str = remembered_option(
        "auto", "tagging scheme of the entities; auto: detected", choices=("auto", *TAG_SCHEMES)
    )
    outside_tag: str = remembered_option(
        "auto", "tag of the words outside all entities; auto: O, or the tag of most words if no word has O"
    )
    tag_form: str = remembered_option(
        "auto",
        "form of the tags with a prefix: the tag of the first word of a PER, such as B-PER, B_PER or PER-B; "
        "auto: detected",
        read=read_tag_form,
        suggestions=("auto", "B-PER", "B_PER", "PER-B", "PER_B"),
    )
    test_tags: str = option(
        "auto",
        "whether the test file has tags; auto: if it has more than one column, or annotations",
        choices=("auto", "yes", "no"),
    )
    span_format: str = remembered_option(
        "auto",
        "format of the predictions for JSON lines of texts without spans; auto: as of the "
        f"training file, else {PRODIGY}",
        choices=("auto", *SPAN_FORMATS),
    )
    label_all_pieces: bool = deciding_option(
        False, "train on all word pieces of a word, not only the first; predictions use the first", remembered=True
    )
    doc_stride: int | None = deciding_option(
        None, "stride of the windows in word pieces; default: half of max_seq_length", lower=1, remembered=True
    )


class TaggerModel(FlagGroup, heading="Model"):
    """Encoder layers that the token classifier reads."""

    layers: str | None = deciding_option(
        None,
        f"encoder layers that the classifier reads, concatenated: {LAYERS}; default: "
        f"{LAST_LAYER}, the last one, and with --freeze_encoder {LAST_LAYERS}",
        remembered=True,
    )


MULTIPLE_ANSWERS = ("first", "all")
WINDOW_LENGTH = 384  # default of --max_seq_length


class Squad(FlagGroup, heading="Data"):
    """Data of bert-squad, and the windows that contexts are cut into."""

    version_2_with_negative: bool = deciding_option(False, "SQuAD 2.0: some questions have no answer", remembered=True)
    multiple_answers: str | None = option(
        None,
        "training answers with several spans: take the first, or train on all; default: an error",
        choices=MULTIPLE_ANSWERS,
    )
    max_query_length: int = deciding_option(
        64, "maximum question length in tokens; longer questions are truncated", remembered=True
    )
    doc_stride: int = deciding_option(128, "stride of the windows in tokens, from start to start", remembered=True)


class AnswerSearch(FlagGroup, heading="Answers"):
    """Flags for finding answers in the logits of windows."""

    n_best_size: int = option(20, "number of start and end candidates in a window, and of answers in an n-best list")
    max_answer_length: int = option(30, "maximum answer length in tokens")
    null_score_diff_threshold: float = option(0.0, "null odds above which the question has no answer")
    keep_padding: bool = option(
        False,
        "compute padding in prediction, slower, so that the n-best lists of short texts are equal to Google's",
    )
    verbose_logging: bool = option(
        False, "log the windows of 20 questions of each file, with their ids", python_argument=False
    )


COMBINATIONS = ("none", "concat", "sum", "mean")


class Extraction(FlagGroup, heading="Texts and vectors"):
    """Vectors to compute, and their file format."""

    output_format: str = option(
        "jsonl",
        "format of output_file; npy: one vector per line; parquet: needs the package pyarrow",
        choices=("jsonl", "npz", "npy", "parquet", "tfrecord"),
        needs={"=npy": "pooling"},
        because="npy holds one vector per line; npz takes vectors of tokens",
        python_argument=False,
    )
    float16: bool = option(
        False,
        "store float16 in npz, npy and parquet",
        needs="output_format=npz|npy|parquet",
        because="other formats have no such numbers",
    )
    resume: bool = option(
        False,
        "resume the partial output of an interrupted run (JSON lines)",
        needs="output_format=jsonl",
        excludes=("attentions", f"output_file={STANDARD}"),
    )
    layers: str | None = option(
        None,
        f"encoder layers: {LAYERS}; default: {LAST_LAYERS}, Google's, and with --pooling or --words {LAST_LAYER}",
        decides_predictions=True,
    )
    pooling: str | None = option(
        None,
        "one vector per line: cls, mean, max, mean_sqrt_len, weighted_mean, last (token), several such as cls,mean, "
        f"or pooler; none: vectors of tokens; default: as in the model's {MODULES}, or none",
        read=read_pooling,
        suggestions=POOLINGS,
        excludes={"=pooler": "layers"},
        because="the pooler reads the last layer; leave --layers out",
    )
    combine: str = option(
        "none",
        "combination of several layers into one vector; with --pooling, none means concat",
        choices=COMBINATIONS,
        decides_predictions=True,
    )
    normalize: bool | None = option(
        None, f"scale vectors to length 1; default: see {MODULES}, or false", decides_predictions=True
    )
    prompt_name: str | None = option(
        None,
        "prompt in the files of sentence-transformers to put before each text, by its name; default: the model's own",
        excludes=("words", "show_attention"),
        because="a prompt is part of the text",
    )
    words: bool = option(
        False,
        "vectors of words, the mean over their word pieces, with their character offsets in the line",
        excludes="pooling",
        because="pooling gives one vector per line",
        decides_predictions=True,
    )
    long_text: bool = option(
        False,
        "compute longer lines in windows that overlap by half instead of truncating them; each "
        "token is taken from the window with its largest context",
        decides_predictions=True,
    )


MODEL_NAME = re.compile(r"[A-Za-z0-9._-]+")
_BOOLEANS = ("true", "false")
# A flag's texts by model name; the name "" is for all models.
PerModel = tuple[tuple[str, str], ...]


def _per_model(flag: str, help: str, **properties: Any) -> Any:
    """Return a field for a flag with a value for all models, or NAME=VALUE for one model.

    Args:
        flag: the flag's name.
        help: its help text.
        properties: attributes of Option.
    """

    def read(text: str) -> PerModel:
        values: dict[str, str] = {}
        for line in text.split("\n"):
            name, sign, value = line.partition("=")
            if not (sign and MODEL_NAME.fullmatch(name)):
                name, value = "", line
            refuse_if(not value, f"--{flag}={line}: a value is needed after NAME=")
            refuse_if(name in values, f"--{flag}={line}: is given twice for {name or 'all models'}")
            values[name] = value
        return tuple(values.items())

    return option((), help, read=read, repeated=True, **properties)


class ModelUse(FlagGroup, heading="Use of the models"):
    """Use of the models: a value for all of them, or NAME=VALUE for the model NAME."""

    max_seq_length: PerModel = _per_model(
        "max_seq_length",
        "maximum sequence length in tokens; longer texts are cut; default: the training run's, or the model's own",
    )
    long_text: PerModel = _per_model(
        "long_text",
        "treatment of longer texts: truncate, head_tail or windows; default: the training run's, or truncate",
        suggestions=(TRUNCATE, HEAD_TAIL, WINDOWS),
    )
    labels: PerModel = _per_model(
        "labels", "names of a classifier's outputs, in their order; default: those in the model's files"
    )
    do_lower_case: PerModel = _per_model(
        "do_lower_case",
        "lower-case texts and strip accents, true or false; default: the model's setting",
        suggestions=_BOOLEANS,
        implicit_value="true",
    )
    vocab_file: PerModel = _per_model("vocab_file", "vocabulary, vocab.txt or tokenizer.json; default: the model's")
    gelu: PerModel = _per_model(
        "gelu",
        "form of GELU: auto, erf or tanh; default: the training run's, or auto",
        suggestions=("auto", "erf", "tanh"),
    )
    pooling: PerModel = _per_model(
        "pooling",
        "vectors of /v1/embeddings, as in bert-extract-features; default: as in the modules.json of the model, or mean",
        suggestions=tuple(name for name in POOLINGS if name != NONE),
    )
    layers: PerModel = _per_model(
        "layers", f"layers of these vectors, as in bert-extract-features; default: {LAST_LAYER}"
    )
    normalize: PerModel = _per_model(
        "normalize",
        "scale these vectors to length 1, true or false; default: as in the modules.json of the model, or true",
        suggestions=_BOOLEANS,
        implicit_value="true",
    )
    prompt_name: PerModel = _per_model(
        "prompt_name",
        "prompt of the model before each text, if a request names none; default: the default of the model",
    )


def _read_text_pooling(text: str) -> str:
    """Return a value of --pooling; raise InputError if it gives no vector per text."""
    refuse_if(text == NONE, f"--pooling={text}: gives vectors of tokens, and a text needs one vector; name another")
    return read_pooling(text)


# The flags of bert-extract-features that choose a text's vector, as a server has them.
_VECTOR_FLAGS = ("layers", "pooling", "normalize", "prompt_name")
_OVERRIDES: dict[str, str | dict[str, Any]] = {
    "pooling": {"read": _read_text_pooling, "because": "the pooler reads the last layer"},
    "prompt_name": {"excludes": (), "because": ""},
}
USE_FLAGS = tuple(field.name for field in dataclasses.fields(ModelUse))


@dataclasses.dataclass(frozen=True)
class VectorUseSettings:
    """Flags that choose a text's vector."""

    vectors: Extraction = group(Extraction, _OVERRIDES, only=_VECTOR_FLAGS)


@dataclasses.dataclass(frozen=True)
class FlagsOfModel:
    """The flags of ModelUse for one model, with the types and checks of other commands."""

    encoding: Encoding = group(Encoding)
    model: ModelFiles = group(ModelFiles, only=("vocab_file", "do_lower_case", "gelu"))
    vectors: Extraction = group(Extraction, _OVERRIDES, only=_VECTOR_FLAGS)


@dataclasses.dataclass(frozen=True)
class ModelFlags:
    """Flags for loading a served model.

    Attributes:
        values: values by flag name, for the flags that were given.
        required: names of flags that the model must use, because they are for no other model.
    """

    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    required: frozenset[str] = frozenset()


def flags_of_served_model(use: ModelUse, name: str, is_only: bool) -> ModelFlags:
    """Return the flags for loading a model; raise InputError for a wrong value.

    Args:
        is_only: whether no other model is served.
    """
    texts: dict[str, str] = {}
    required: set[str] = set()
    for flag in USE_FLAGS:
        values = dict(getattr(use, flag))
        if text := values.get(name) or values.get(""):
            texts[flag] = text
            required |= {flag} if is_only or name in values else set()
    flags = {flag.name: flag for flag in every_flag(FlagsOfModel)}
    values = {flag: convert_value(flags[flag], text) for flag, text in texts.items()}
    check_rules(build(FlagsOfModel, values))
    return ModelFlags(values, frozenset(required))
