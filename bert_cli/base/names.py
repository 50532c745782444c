"""File names in run and model directories, and marks in texts and flags, that modules share."""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final


def split_names(text: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list; a name in CSV quotes may contain commas."""
    try:
        names = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        names = text.split(",")
    return tuple(name.strip() for name in names)


def join_names(names: Sequence[str]) -> str:
    """Return names as a comma-separated list that `split_names` can read."""
    return ",".join(quote_name(name) if "," in name else write_name(name) for name in names)


def show_names(names: Iterable[str]) -> str:
    """Return names for a log line, separated by commas; a name with a comma is in CSV quotes."""
    return ", ".join(map(show_name, names))


def show_name(name: str) -> str:
    """Return a name for a list with commas: in CSV quotes if it has a comma."""
    return quote_name(name) if "," in name else name


def quote_name(name: str) -> str:
    """Return a name in CSV quotes."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def read_name(text: str) -> str:
    """Return a single name, with CSV quotes removed; an empty text is the name ""."""
    names = split_names(text)
    return names[0] if len(names) == 1 else text


def write_name(name: str) -> str:
    """Return a name as `read_name` reads it: in CSV quotes if it is empty or begins with a quote."""
    return quote_name(name) if not name or name.startswith('"') else name


def find_label_problem(label: str) -> str:
    """Return why labels.txt, which has one label per line, cannot hold a label; "" if it can."""
    if re.search(r"[\r\n]", label):
        return "has a line end; replace it by a space"
    if re.search("[\0\ud800-\udfff]", label):
        return "has a NUL character or half of a surrogate pair; remove it"
    return "begins with a byte-order mark; remove it" if label.startswith("\ufeff") else ""


def shard_name(name: str, number: int, count: int) -> str:
    """Return the `name` of shard `number`, from 0, of `count`, as TensorFlow's tools write it."""
    return f"{name}-{number:05d}-of-{count:05d}"


def keras_hub_class(config: Mapping[str, object]) -> str:
    """Return the class in the config.json of a KerasHub or KerasNLP preset, "" for other files."""
    module = config.get("module")
    is_preset = isinstance(module, str) and module.split(".")[0] in ("keras_hub", "keras_nlp")
    return str(config.get("class_name")) if is_preset else ""


STANDARD = "-"  # used as a flag's value for standard input or output
PAIR_MARK = " ||| "  # between two texts in one line
TRUNCATE, HEAD_TAIL, WINDOWS = "truncate", "head_tail", "windows"  # values of --long_text
RANDOM = "random"  # value of --init_checkpoint: use random weights, even if there is a checkpoint
HUB_PREFIX = "hf:"  # before a name on Hugging Face's hub, in flags for a model
# Its name in run.json and messages, which do not depend on the package's path.
BUILTIN_MODEL = "the built-in model"
UNFINISHED = ".writing-"  # prefix used until a file or directory is complete and renamed

# Files in a run's output_dir.
MANIFEST = "run.json"
REPORT = "run_report.json"
FLAGS = "flags.txt"
EVAL_RESULTS = "eval_results.txt"
LOCK = ".bert_cli.lock"  # held by the active run
STATE = "checkpoint"  # names the newest model.ckpt-N
EVAL_EXAMPLES = "eval_examples.jsonl"
PAGE = "report.html"
CHECKPOINT = "model.ckpt-"  # followed by the step number
HISTORY = "history.jsonl"
# The same for TensorBoard, which looks for "tfevents" in file names.
EVENTS = "events.out.tfevents.history"
TRACKING = "trackers.json"  # ids of the run in the trackers of --report_to
# Tables about several runs.
RUNS_TABLE, GRID_TABLE, FOLDS_TABLE = "runs.tsv", "grid.tsv", "folds.tsv"
CURVE_TABLE = "learning_curve.tsv"
ROWS_PER_LABEL = "rows_per_label"  # the flag that makes a learning curve
LINEAR_BASELINE = "tfidf"  # in "baselines" of run_report.json
OUT_OF_FOLD, SUSPECTS = "out_of_fold.tsv", "suspects.tsv"
BEST = "best"  # directory with the best checkpoint
# Names the subdirectory with the model to use: best, or one of several runs.
BEST_FILE = "best.json"

# Keys of run_report.json: digests of the texts and labels in the training and dev data.
TRAIN_DATA: Final = "train_data_digest"
DATA_FACTS: Final = "data_facts"
EVAL_DATA: Final = "eval_data_digest"
# Key of run_report.json: the label that eval_f1 is of.
POSITIVE_LABEL: Final = "positive_label"
# Key of run_report.json and run.json: the runs in subdirectories, under RUNS, GRID or FOLDS.
SEVERAL = "several"
AVERAGED_RUNS = "averaged_runs"
RUNS, GRID, FOLDS = "runs", "grid", "folds"

# Files next to a checkpoint.
VOCABULARY = "vocab.txt"
CONFIG = "bert_config.json"
LABELS = "labels.txt"
THRESHOLDS = "thresholds.json"
CALIBRATION = "calibration.json"
HUGGING_FACE_CONFIG = "config.json"
SAFETENSORS = "model.safetensors"
# Index of shards such as model-00001-of-00002.safetensors.
SAFETENSORS_INDEX = "model.safetensors.index.json"
TF_MODEL = "tf_model.h5"  # from transformers' TensorFlow classes
MODEL_FILES = (VOCABULARY, CONFIG, LABELS, HUGGING_FACE_CONFIG)
TOKENIZER = "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
ADDED_TOKENS = "added_tokens.json"
SPECIAL_TOKENS = "special_tokens_map.json"
TOKENIZER_FILES = (TOKENIZER, TOKENIZER_CONFIG, ADDED_TOKENS, SPECIAL_TOKENS, HUGGING_FACE_CONFIG)

# Files in a preset of KerasHub; its config.json and tokenizer.json have a format of their own.
KERAS_HUB_WEIGHTS = "model.weights.h5"
KERAS_HUB_TASK = "task.weights.h5"  # the weights with a head
KERAS_HUB_VOCABULARY = "assets/tokenizer/vocabulary.txt"

# Files of an adapter, as peft writes them.
ADAPTER_CONFIG, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"

# Files of sentence-transformers.
MODULES = "modules.json"
SENTENCE_CONFIG = "config_sentence_transformers.json"
SENTENCE_BERT = "sentence_bert_config.json"

# Output files by task.
TEACHER = "teacher.npy"
TEST_RESULTS = "test_results.tsv"
PREDICTIONS_TABLE = "predictions.tsv"
TO_LABEL = "to_label.tsv"
TEST_PREDICTIONS = "test_predictions.txt"
TEST_PREDICTIONS_JSON = "test_predictions.jsonl"
TEST_PREDICTIONS_JSON_DOCUMENT = "test_predictions.json"  # for formats that are one JSON document
TEST_PREDICTIONS_DOCUMENTS = "test_predictions"  # directory of brat documents
ANSWERS = "predictions.json"
NBEST_ANSWERS = "nbest_predictions.json"
NULL_ODDS = "null_odds.json"

# Files that every run writes, and names of task outputs. run.json lists a run's files; these names
# matter only if it is damaged.
RUN_FILES = (MANIFEST, STATE, CONFIG, FLAGS, EVAL_RESULTS, REPORT)
RESULT_FILES = (
    EVAL_RESULTS, TEST_RESULTS, PREDICTIONS_TABLE, TEST_PREDICTIONS, TEST_PREDICTIONS_JSON, ANSWERS, NBEST_ANSWERS,
    NULL_ODDS,
)  # fmt: skip

# Tag for words outside all entities, in every scheme. Labels that contain it are token tags.
OUTSIDE = "O"
