"""What every run has: its numbers in short, its settings, the commands that repeat it and use it, and its machine."""

import os
import shlex
from typing import Any

from bert_cli.base.names import EVAL_RESULTS, FLAGS
from bert_cli.metrics.selection import lower_is_better
from bert_cli.problem_types.registry import problem_type
from bert_cli.report.figures import Line, lines
from bert_cli.report.headline import best_step, main_metric, spoken
from bert_cli.report.parts import Card, ReportTable, Section, Tile, clock, facts, figure_card, memory, number
from bert_cli.report.run_files import Run

# Keys of run.json that are no settings, or are told elsewhere.
_NO_SETTINGS = {"command", "config", "files", "labels", "vocabulary", "training_data"}
_PER_CENT = ("bert-tag", "bert-squad")  # whose scores are in per cent
_TEXT = "'a text'"


def is_per_cent(command: str, metric: str) -> bool:
    """Whether a metric goes from 0 to 100, not to 1."""
    return command in _PER_CENT and not lower_is_better(metric)


def score(command: str, metric: str, value: float) -> str:
    """A metric as it stands in a large number."""
    if is_per_cent(command, metric):
        return f"{value:.2f} %"
    return number(value)


def tiles(run: Run) -> list[Tile]:
    """The metric, the best step, the steps, the speed, the memory."""
    report, found = run.report, []
    metric = main_metric(run.results, run.manifest)
    step = report.get("global_step")
    if metric:
        rows = report.get("eval", {}).get("eval_examples")
        found.append(Tile(score(run.command, metric, run.results[metric]), spoken(metric),
                          f"on {number(rows)} held-out rows" if rows else "on held-out data"))  # fmt: skip
    best = best_step(run.evaluations, metric) if metric else None
    if best and len(run.evaluations) > 1:
        found.append(Tile(number(best[0]), "best step", f"{spoken(metric)} {score(run.command, metric, best[1])}"))
    if step is not None:
        found.append(
            Tile(number(report.get("last_step", step)), "steps", f"{clock(report.get('train_seconds'))} of training")
        )
    if report.get("train_examples_per_second"):
        found.append(Tile(number(report["train_examples_per_second"], 1), "examples/s", "training"))
    if report.get("peak_memory_bytes"):
        found.append(Tile(memory(report["peak_memory_bytes"]), "memory", "at its peak"))
    return found


def results_card(run: Run) -> Card | None:
    """All numbers of eval_results.txt."""
    if not run.results:
        return None
    rows = [(name, f"{value:,.7g}") for name, value in run.results.items()]
    return Card("card-results", EVAL_RESULTS, "table", ReportTable(("name", "value"), rows))


def lengths_cards(run: Run) -> list[Card]:
    """How long the inputs of each split are, and what was cut."""
    found, cut = run.report.get("lengths") or {}, run.report.get("cut_examples") or {}
    if not found:
        return []
    series, rows = [], []
    limit = max(each["limit"] for each in found.values())
    for split, each in found.items():
        edges, total = each["edges"], max(1, sum(each["counts"]))
        width = edges[1] - edges[0]
        middles = [edge + (width - 1) / 2 for edge in edges]
        # A bar without rows behind the last one ends the line on the ground.
        series.append(Line(split, middles, [100 * count / total for count in (*each["counts"], 0)], steps=True))
        numbers = number(each["rows"]), number(each["median"], 0), number(each["longest"])
        rows.append((split, *numbers, number(cut.get(split, ""))))
    longest = max(each["longest"] for each in found.values())
    mark = limit if longest > 0.6 * limit else None
    figure = lines("lengths", "Tokens of the inputs", series, "tokens", "per cent of the inputs", mark=mark)
    head = ("split", "inputs", "median", "longest", "cut") if cut else ("split", "inputs", "median", "longest")
    table = ReportTable(head, [row[: len(head)] for row in rows])
    note = f"In tokens, [CLS] and [SEP] among them; what is longer than {limit} is cut."
    return [
        figure_card("card-lengths", "Lengths", figure, note),
        Card("card-splits", "Splits", "table", table),
    ]


def commands(run: Run) -> list[tuple[str, str]]:
    """(what for, command) to repeat the run, to use it, and to make this page again."""
    name, folder = run.command, run.folder if "://" in run.folder else os.path.abspath(run.folder)
    # Quoted: a path may hold spaces, and commands are copied from the page.
    flags, folder = shlex.quote(f"{folder}/{FLAGS}"), shlex.quote(folder)
    found = [("Repeat it in another folder", f"{name} --flagfile={flags} --output_dir=ANOTHER_FOLDER")]
    is_choice = problem_type(run.manifest.get("problem_type")).has_endings
    if is_choice:
        use = f"{name} --output_dir={folder} --do_predict --predict_file=FILE"
        found.append(("Choose among the endings of a file with the same columns", use))
    elif name == "bert-classify":
        pair = " --text_b 'another text'" if _has_pairs(run) else ""
        found += [
            ("Answer a text", f"{name} --output_dir={folder} --text {_TEXT}{pair}"),
            ("Show which words matter", f"{name} --output_dir={folder} --explain {_TEXT}{pair}"),
            ("Answer a file, a text a line", f"{name} --output_dir={folder} --input_file=texts.txt"),
        ]
    elif name == "bert-tag":
        found.append(("Tag a text", f"{name} --output_dir={folder} --text {_TEXT}"))
    elif name == "bert-squad":
        found.append(
            ("Answer the questions of a file", f"{name} --output_dir={folder} --do_predict --predict_file=dev.json")
        )
    elif name == "bert-pretrain":
        found.append(("Fill in words", f"bert-fill-mask 'the dog [MASK] in the garden.' --init_checkpoint={folder}"))
    if name != "bert-pretrain" and not is_choice:
        found.append(("Export it", f"bert-export --init_checkpoint={folder} --export_dir=EXPORT/1"))
    found.append(("Make this page again", f"bert-report {folder}"))
    return found


def _has_pairs(run: Run) -> bool:
    return any("text_b" in row for row in (run.examples.rows if run.examples else []))


def settings(run: Run) -> list[tuple[str, str]]:
    """What decided the result, with the labels."""
    manifest = run.manifest
    shown: dict[str, Any] = {key: value for key, value in manifest.items() if key not in _NO_SETTINGS}
    labels = manifest.get("labels")
    if isinstance(labels, list):
        shown["labels"] = ", ".join(map(str, labels[:12])) + (f", … ({len(labels)})" if len(labels) > 12 else "")
    start = shown.pop("init_checkpoint", None)
    shown["starts from"] = _start(start)
    pairs = {}
    for name, value in shown.items():
        text = str(value).lower() if isinstance(value, bool) else _plain(value)
        pairs[name] = text
    return facts(pairs)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(map(str, value)) if isinstance(value, list) else value if value is None else str(value)


def _start(start: Any) -> str:
    if isinstance(start, dict):
        return str(next((value for value in start.values() if isinstance(value, str)), "a checkpoint"))
    return str(start) if start else "random weights"


def model(run: Run) -> list[tuple[str, str]]:
    return facts({name: _plain(value) for name, value in run.manifest["config"].items()})


def machine(run: Run) -> list[tuple[str, str]]:
    """Device, versions, memory, times."""
    report = run.report
    versions = report.get("versions") or {}
    pairs = {
        "device": report.get("devices"),
        "precision": report.get("precision"),
        "memory at its peak": memory(report.get("peak_memory_bytes")),
        "memory of the device": memory(report.get("peak_device_memory_bytes")),
        "training": clock(report.get("train_seconds")),
        "whole run": clock(report.get("total_seconds")),
        "examples/s, training": report.get("train_examples_per_second"),
        "examples/s, evaluation": report.get("eval_examples_per_second"),
        "finished": report.get("finished"),
        **versions,
    }
    return facts(pairs)


def run_section(run: Run) -> Section:
    """Settings, model, commands, machine."""
    cards = [
        Card("card-commands", "Commands", "commands", commands(run), is_wide=True),
        Card("card-settings", "Settings that decide the result", "facts", settings(run)),
        Card("card-machine", "Machine", "facts", machine(run)),
        Card("card-model", "Model", "facts", model(run)),
    ]
    results = results_card(run)
    return Section("run", "The run", tuple([*cards, results] if results else cards))
