"""Names and marks that several places must spell alike: of files in a run's or a model's folder, and in texts and flags."""

STANDARD = "-"  # in a flag, standard input or output
PAIR_MARK = " ||| "  # between the two texts of a line
UNFINISHED = ".writing-"  # before a random name: a file or folder that gets its own name when it is whole

# A run's folder.
MANIFEST = "run.json"
REPORT = "run_report.json"
FLAGS = "flags.txt"
EVAL_RESULTS = "eval_results.txt"
STATE = "checkpoint"  # names the newest model.ckpt-N
CHECKPOINT = "model.ckpt-"  # before the number of steps

# What stands beside a checkpoint.
VOCABULARY = "vocab.txt"
CONFIG = "bert_config.json"
LABELS = "labels.txt"
THRESHOLDS = "thresholds.json"
HUGGING_FACE_CONFIG = "config.json"
TOKENIZER = "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"

# What a task writes.
TEACHER = "teacher.npy"
TEST_RESULTS = "test_results.tsv"
PREDICTIONS_TABLE = "predictions.tsv"
TEST_PREDICTIONS = "test_predictions.txt"
TEST_PREDICTIONS_JSON = "test_predictions.jsonl"
ANSWERS = "predictions.json"
NBEST_ANSWERS = "nbest_predictions.json"
NULL_ODDS = "null_odds.json"
