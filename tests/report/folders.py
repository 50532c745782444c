"""Handmade directories of runs for report pages, with texts that try to break out of the HTML."""

import json
import math
import pathlib
from typing import Any

MARK = "evil.invalid"
SCRIPT = f'<script>alert(1)</script><img src="http://{MARK}/x.png" onerror="alert(2)">'
LONG = "W" * 900
RIGHT_TO_LEFT = "\u202eשלום עולם\u202d"
HOSTILE = (f"{SCRIPT} {LONG}", f"{RIGHT_TO_LEFT} </style></p> &amp; {{{{ 7 * 7 }}}} $x^2$ \x07")
CONFIG = {"vocab_size": 100, "hidden_size": 16, "num_hidden_layers": 2, "hidden_act": "gelu"}


def write(folder: pathlib.Path, name: str, value: Any) -> None:
    """Write a text unchanged, a list as JSON lines, or another object as JSON."""
    if isinstance(value, list):
        value = "".join(json.dumps(line) + "\n" for line in value)
    (folder / name).write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")


def history(steps: int, metric: str) -> list[dict]:
    lines: list[dict] = []
    for step in range(10, steps + 1, 10):
        loss = math.exp(-step / 50)
        line = {
            "step": step,
            "loss": loss,
            "learning_rate": 1e-4 * (1 - step / steps),
            "examples_per_second": 100.0 + step,
        }
        lines.append(line | {"seconds": step / 10})
        if step % 30 == 0:
            values = {metric: 0.9 - abs(step - 60) / 100, "eval_loss": loss + 0.1}
            lines.append({"step": step, "metrics": values, "seconds": step / 10})
    return lines


def begin(folder: pathlib.Path, command: str, metric: str, manifest: dict, report: dict, results: dict) -> pathlib.Path:
    """Write the files that every run has, and return the directory.

    Args:
        folder: directory to create.
        command: the run's command.
        metric: metric in the history.
        manifest: additional values for run.json.
        report: additional values for run_report.json.
        results: metrics for eval_results.txt.
    """
    folder.mkdir(parents=True)
    values = {
        "command": command,
        "max_seq_length": 32,
        "learning_rate": 1e-4,
        "random_seed": 1,
        "warmup_proportion": 0.1,
        "init_checkpoint": None,
    }
    write(folder, "run.json", values | manifest | {"config": CONFIG, "vocabulary": "ab12", "files": ["report.html"]})
    lengths = {
        "rows": 5,
        "limit": 32,
        "mean": 9.0,
        "median": 8.0,
        "longest": 30,
        "edges": [0, 16, 32],
        "counts": [4, 1],
    }
    facts = {
        "global_step": 90, "train_seconds": 75.0, "total_seconds": 80.5, "train_examples_per_second": 123.4,
        "first_loss": 0.9, "last_loss": 0.1625,
        "precision": "float32", "devices": "1 CPU", "versions": {"tensorflow": "2.21.0"}, "peak_memory_bytes": 1_500_000_000,
        "lengths": {"train": lengths, "dev": lengths}, "cut_examples": {"train": 2, "dev": 0}, "finished": "2026-01-01 00:00",
    }  # fmt: skip
    write(folder, "run_report.json", facts | report)
    write(folder, "flags.txt", "--max_seq_length=32\n--null_score_diff_threshold=0.0\n")
    write(folder, "eval_results.txt", "".join(f"{name} = {value}\n" for name, value in results.items()))
    write(folder, "history.jsonl", history(90, metric))
    return folder


def one_label(folder: pathlib.Path, seed: int = 1, accuracy: float = 0.75) -> pathlib.Path:
    """Write a run of bert-classify with a hostile label and hostile texts."""
    labels = ["0", SCRIPT]
    words = [{"word": HOSTILE[0].split()[0], "share": 0.5}, {"word": LONG, "share": -0.25, "text_b": True}]
    explained = {"label": SCRIPT, "probability": 0.9, "score": 2.0, "masked_score": 1.75, "words": words}
    rows = [
        {"row": 0, "label": 0, "probabilities": [0.1, 0.9], "id": SCRIPT, "text": HOSTILE[0], "text_b": HOSTILE[1]},
        {
            "row": 1,
            "label": 1,
            "probabilities": [0.2, 0.8],
            "id": "dev-1",
            "text": HOSTILE[1],
            "explanation": explained,
        },
        {"row": 2, "label": 0, "probabilities": [0.7, 0.3]},
        {"row": 3, "label": 1, "probabilities": [0.4, 0.6]},
    ]
    scores = {"precision": 0.5, "recall": 0.5, "f1": 0.5, "support": 2}
    evaluation = {"eval_examples": 4, "classes": dict.fromkeys(labels, scores), "confusion_matrix": [[1, 1], [0, 2]]}
    results = {"eval_accuracy": accuracy, "eval_mcc": 0.577, "eval_loss": 0.6, "loss": 0.6}
    manifest = {"labels": labels, "task_name": "", "random_seed": seed}
    begin(folder, "bert-classify", "eval_accuracy", manifest, {"labels": labels, "eval": evaluation}, results)
    write(folder, "eval_examples.jsonl", [{"kind": "single_label", "labels": labels, "rows": 4}, *rows])
    return folder


def several_labels(folder: pathlib.Path) -> pathlib.Path:
    labels = ["red", SCRIPT]
    has, shares = [[1, 0], [0, 1], [1, 1], [0, 0]], [[0.9, 0.6], [0.4, 0.7], [0.3, 0.8], [0.2, 0.1]]
    rows = [
        {"row": n, "labels": has[n], "probabilities": shares[n], "id": f"r{n}", "text": HOSTILE[n // 2]}
        for n in range(4)
    ]
    scores = dict.fromkeys(("threshold", "precision", "recall", "f1", "average_precision"), 0.5)
    evaluation = {"labels": dict.fromkeys(labels, scores | {"roc_auc": None, "support": 2})}
    results = {"eval_micro_f1": 0.75, "eval_loss": 0.5}
    begin(folder, "bert-classify", "eval_micro_f1", {"labels": labels}, {"labels": labels, "eval": evaluation}, results)
    head = {"kind": "multi_label", "labels": labels, "rows": 4, "thresholds": [0.5, 0.5]}
    write(folder, "eval_examples.jsonl", [head, *rows])
    return folder


def regression(folder: pathlib.Path) -> pathlib.Path:
    values = [(1.0, 1.5), (2.0, 1.0), (3.0, 3.0)]
    rows: list[dict] = [
        {"row": n, "value": value, "predicted": prediction} for n, (value, prediction) in enumerate(values)
    ]
    rows[1] |= {"id": "a", "text": HOSTILE[0], "text_b": HOSTILE[1]}
    results = {"eval_pearson": 0.8, "eval_loss": 0.4}
    begin(folder, "bert-classify", "eval_pearson", {"labels": None}, {"labels": [], "eval": {}}, results)
    write(folder, "eval_examples.jsonl", [{"kind": "regression", "labels": [], "rows": 3}, *rows])
    return folder


def multiple_choice(folder: pathlib.Path) -> pathlib.Path:
    rows: list[dict] = [{"row": n, "label": n, "probabilities": [0.25, 0.5, 0.25]} for n in range(3)]
    rows[0] |= {"id": SCRIPT, "text": HOSTILE[0], "endings": [HOSTILE[1], SCRIPT, LONG]}
    manifest = {"labels": None, "problem_type": "multiple_choice"}
    results = {"eval_accuracy": 0.333, "eval_loss": 1.2}
    begin(folder, "bert-classify", "eval_accuracy", manifest, {"labels": [], "eval": {"eval_examples": 3}}, results)
    write(folder, "eval_examples.jsonl", [{"kind": "multiple_choice", "rows": 3}, *rows])
    return folder


def tagging(folder: pathlib.Path) -> pathlib.Path:
    words = [SCRIPT, "sees", LONG, RIGHT_TO_LEFT]
    rows = [
        {"row": 0, "words": words, "gold": ["B-PER", "O", "B-LOC", "I-LOC"], "predicted": ["B-PER", "O", "B-LOC", "O"]},
        {"row": 1, "words": words[:2], "gold": ["B-PER", "O"], "predicted": ["B-PER", "O"]},
    ]
    results = {}
    for ending in ("", "_PER", "_LOC"):
        results |= {f"eval_{name}{ending}": 66.666667 for name in ("precision", "recall", "f1")}
        results[f"eval_entities{ending}"] = 3
    begin(folder, "bert-tag", "eval_f1", {"labels": ["O", "B-PER"]}, {"eval": {}}, results)
    write(folder, "eval_examples.jsonl", [{"kind": "tagging", "rows": 2}, *rows])
    return folder


def squad(folder: pathlib.Path) -> pathlib.Path:
    numbers = [(1.0, 1.0, -3.0, True), (0.0, 0.5, -1.0, True), (0.0, 0.0, 2.0, False), (0.0, 0.0, 1e6, False)]
    rows: list[dict] = [
        {
            "row": n, "exact": exact, "f1": f1, "best_exact": exact, "best_f1": f1, "null_odds": odds,
            "is_answerable": answerable, "is_answered": True, "is_right": exact == 1.0,
        }
        for n, (exact, f1, odds, answerable) in enumerate(numbers)
    ]  # fmt: skip
    context = {"context": f"Anna {SCRIPT} {LONG} {RIGHT_TO_LEFT}", "answer": [0, 4], "is_cut": False}
    rows[0] |= context | {"id": "a", "question": SCRIPT, "gold": [SCRIPT, LONG, "Anna"], "text": "Anna"}
    rows[2] |= context | {"id": "b", "question": RIGHT_TO_LEFT, "gold": [], "text": "", "answer": None}
    results = {"exact": 25.0, "f1": 37.5, "total": 4, "HasAns_exact": 50.0, "HasAns_f1": 75.0, "HasAns_total": 2}
    begin(folder, "bert-squad", "f1", {}, {"eval": {}}, results)
    write(folder, "eval_examples.jsonl", [{"kind": "squad", "rows": 4}, *rows])
    return folder


def pretraining(folder: pathlib.Path) -> pathlib.Path:
    results = {"masked_lm_accuracy": 0.4, "masked_lm_loss": 3.0}
    begin(folder, "bert-pretrain", "masked_lm_accuracy", {}, {"eval": {}}, results)
    tokens = ["[CLS]", "film", "##s", SCRIPT, LONG, RIGHT_TO_LEFT, "[SEP]"]
    row = {"row": 0, "tokens": tokens, "blanks": [[1, "film", 0.5], [3, "the", 0.25], [4, SCRIPT, 0.1]]}
    write(folder, "eval_examples.jsonl", [{"kind": "pretraining", "rows": 9}, row])
    return folder


# Kind of run -> (function that writes it, ids that its page has in addition to ALWAYS_PRESENT).
KINDS = {
    "one_label": (one_label, {"card-matrix", "card-classes", "card-calibration", "card-mistakes", "card-words"}),
    "several_labels": (several_labels, {"card-labels", "card-roc", "card-mistakes"}),
    "regression": (regression, {"card-scatter", "card-mistakes"}),
    "multiple_choice": (multiple_choice, {"card-calibration", "card-mistakes"}),
    "tagging": (tagging, {"card-types", "card-sentences"}),
    "squad": (squad, {"card-scores", "card-threshold", "card-answers"}),
    "pretraining": (pretraining, {"card-blanks"}),
}
ALWAYS_PRESENT = {
    "card-loss", "card-rate", "card-metric", "card-speed", "card-lengths", "card-splits", "card-commands",
    "card-settings", "card-machine", "card-model", "card-results",
}  # fmt: skip
