"""Names and marks that several modules share: of files in a run's or a model's folder, and in texts
and flags.
"""

import csv
from collections.abc import Sequence


def split_names(text: str) -> tuple[str, ...]:
    """Return the names in a list with commas between; a name in CSV quotes may hold commas."""
    try:
        names = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    # A quote that belongs to a name.
    except csv.Error:
        names = text.split(",")
    return tuple(name.strip() for name in names)


def join_names(names: Sequence[str]) -> str:
    """Return names as a list with commas between, from which `split_names` returns them."""
    return ",".join(quote_name(name) if "," in name else write_name(name) for name in names)


def quote_name(name: str) -> str:
    """Return a name in CSV quotes."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def read_name(text: str) -> str:
    """Return a single name, which may be in CSV quotes, as "" for an empty one."""
    names = split_names(text)
    return names[0] if len(names) == 1 else text


def write_name(name: str) -> str:
    """Return a name as `read_name` reads it: in CSV quotes if it is empty or begins with one."""
    return quote_name(name) if not name or name.startswith('"') else name


def shard_name(name: str, number: int, count: int) -> str:
    """The name of one of several files that belong together, from 0, as TensorFlow's tools spell
    it.
    """
    return f"{name}-{number:05d}-of-{count:05d}"


STANDARD = "-"  # in a flag, standard input or output
PAIR_MARK = " ||| "  # between the two texts of a line
RANDOM = "random"  # in --init_checkpoint: no checkpoint, whatever there is
BUILTIN_MODEL = "the built-in model"  # what run.json and messages call it, wherever the package lies
UNFINISHED = ".writing-"  # before a random name: a file or folder that gets its own name when it is whole

# A run's folder.
MANIFEST = "run.json"
REPORT = "run_report.json"
FLAGS = "flags.txt"
EVAL_RESULTS = "eval_results.txt"
LOCK = ".bert_cli.lock"  # of the run that is at work
STATE = "checkpoint"  # names the newest model.ckpt-N
EVAL_EXAMPLES = "eval_examples.jsonl"
PAGE = "report.html"
CHECKPOINT = "model.ckpt-"  # before the number of steps
HISTORY = "history.jsonl"
EVENTS = "events.out.tfevents.history"  # the same for TensorBoard, which knows its files by "tfevents"
RUNS_TABLE, GRID_TABLE, FOLDS_TABLE = "runs.tsv", "grid.tsv", "folds.tsv"  # of several runs
OUT_OF_FOLD, SUSPECTS = "out_of_fold.tsv", "suspects.tsv"
BEST = "best"  # folder of the best checkpoint
BEST_FILE = "best.json"  # names the folder of the model to use within this one: best, or one of several runs

# Keys of run_report.json: digests of the texts and labels that a run was trained and evaluated on.
TRAIN_DATA, EVAL_DATA = "train_data_digest", "eval_data_digest"
SEVERAL = "several"  # in run_report.json and run.json: the runs in folders within this one, of one of these kinds
RUNS, GRID, FOLDS = "runs", "grid", "folds"

# Files next to a checkpoint.
VOCABULARY = "vocab.txt"
CONFIG = "bert_config.json"
LABELS = "labels.txt"
THRESHOLDS = "thresholds.json"
CALIBRATION = "calibration.json"
HUGGING_FACE_CONFIG = "config.json"
SAFETENSORS = "model.safetensors"
SAFETENSORS_INDEX = "model.safetensors.index.json"  # of shards model-00001-of-00002.safetensors
TF_MODEL = "tf_model.h5"  # of transformers' TensorFlow classes
MODEL_FILES = (VOCABULARY, CONFIG, LABELS, HUGGING_FACE_CONFIG)
TOKENIZER = "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
ADDED_TOKENS = "added_tokens.json"
SPECIAL_TOKENS = "special_tokens_map.json"
TOKENIZER_FILES = (TOKENIZER, TOKENIZER_CONFIG, ADDED_TOKENS, SPECIAL_TOKENS, HUGGING_FACE_CONFIG)

# What a task writes.
TEACHER = "teacher.npy"
TEST_RESULTS = "test_results.tsv"
PREDICTIONS_TABLE = "predictions.tsv"
TO_LABEL = "to_label.tsv"
TEST_PREDICTIONS = "test_predictions.txt"
TEST_PREDICTIONS_JSON = "test_predictions.jsonl"
TEST_PREDICTIONS_JSON_DOCUMENT = "test_predictions.json"  # of formats that are one JSON document
TEST_PREDICTIONS_DOCUMENTS = "test_predictions"  # folder of documents of brat
ANSWERS = "predictions.json"
NBEST_ANSWERS = "nbest_predictions.json"
NULL_ODDS = "null_odds.json"

# Files of every run, in addition to its task's own; and what the tasks wrote before run.json listed
# the files of a run.
RUN_FILES = (MANIFEST, STATE, CONFIG, FLAGS, EVAL_RESULTS, REPORT)
RESULT_FILES = (
    EVAL_RESULTS, TEST_RESULTS, PREDICTIONS_TABLE, TEST_PREDICTIONS, TEST_PREDICTIONS_JSON, ANSWERS, NBEST_ANSWERS,
    NULL_ODDS,
)  # fmt: skip

# The tag of a word outside all entities, in every scheme; labels that have it are tags of tokens.
OUTSIDE = "O"
