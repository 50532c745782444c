"""What every run has: its numbers in short, its settings, the commands that repeat it and use it, and its machine."""

import os
import shlex
from typing import Any

from bert_cli.base.names import EVAL_RESULTS, FLAGS
from bert_cli.problem_types.registry import problem_type
from bert_cli.report.components import Card, ReportTable, Tile, clock, facts, memory, number
from bert_cli.report.figures import Line, line_card
from bert_cli.report.main_metric import best_step, display_name, main_metric, score
from bert_cli.report.run_files import Run

# Keys of run.json that are no settings, or have a place of their own in the page.
_NO_SETTINGS = {"command", "config", "files", "labels", "vocabulary", "training_data"}
# Flags that use a model besides --output_dir, and what they do.
_USES = {
    "bert-classify": (
        ("Answer a text", "--text 'a text'{pair}"),
        ("Show which words matter", "--explain 'a text'{pair}"),
        ("Answer a file, a text a line", "--input_file=texts.txt"),
    ),
    "bert-tag": (("Tag a text", "--text 'a text'"),),
    "bert-squad": (("Answer the questions of a file", "--do_predict --predict_file=dev.json"),),
}
_CHOICE_USE = ("Choose among the endings of a file with the same columns", "--do_predict --predict_file=FILE")


def tiles(run: Run) -> list[Tile]:
    """The metric, the best step, the steps, the speed, the memory."""
    report, shown = run.report, []
    metric = main_metric(run.results, run.manifest)
    step = report.get("global_step")
    if metric:
        rows = report.get("eval", {}).get("eval_examples")
        note = f"on {number(rows)} held-out rows" if rows else "on held-out data"
        shown.append(Tile(score(run.command, metric, run.results[metric]), display_name(metric), note))
    best = best_step(run.evaluations, metric) if metric else None
    if best and len(run.evaluations) > 1:
        shown.append(
            Tile(number(best[0]), "best step", f"{display_name(metric)} {score(run.command, metric, best[1])}")
        )
    if step is not None:
        time = clock(report.get("train_seconds"))
        # global_step is the step of the best checkpoint where the run kept one, and last_step the end of the training.
        shown.append(Tile(number(report.get("last_step", step)), "steps", f"{time} of training"))
    if report.get("train_examples_per_second"):
        shown.append(Tile(number(report["train_examples_per_second"], 1), "examples/s", "training"))
    if report.get("peak_memory_bytes"):
        shown.append(Tile(memory(report["peak_memory_bytes"]), "memory", "at its peak"))
    return shown


def lengths_cards(run: Run) -> list[Card]:
    """How long the inputs of each split are, and how many were cut."""
    lengths, cut = run.report.get("lengths") or {}, run.report.get("cut_examples") or {}
    if not lengths:
        return []
    series, rows = [], []
    for split, each in lengths.items():
        edges, total = each["edges"], max(1, sum(each["counts"]))
        width = edges[1] - edges[0]
        middles = [edge + (width - 1) / 2 for edge in edges]
        # An empty bar after the last one, so that the line ends on the ground.
        series.append(Line(split, middles, [100 * count / total for count in (*each["counts"], 0)], steps=True))
        numbers = number(each["rows"]), number(each["median"], 0), number(each["longest"])
        rows.append((split, *numbers, *([number(cut.get(split, ""))] if cut else [])))
    limit, longest = (max(each[name] for each in lengths.values()) for name in ("limit", "longest"))
    # A mark far to the right of all bars would squeeze them.
    mark = limit if longest > 0.6 * limit else None
    note = f"In tokens, [CLS] and [SEP] among them; what is longer than {limit} is cut."
    axes = ("tokens", "per cent of the inputs")
    table = ReportTable(("split", "inputs", "median", "longest", *(["cut"] if cut else [])), rows)
    return [
        line_card("lengths", "Lengths", "Tokens of the inputs", series, axes, note, mark=mark),
        Card("card-splits", "Splits", "table", table),
    ]


def commands(run: Run) -> list[tuple[str, str]]:
    """(what for, command) to repeat the run, to use it, and to make this page again."""
    name, folder = run.command, run.folder if "://" in run.folder else os.path.abspath(run.folder)
    # Quoted: a path may hold spaces, and commands are copied from the page.
    flags, folder = shlex.quote(f"{folder}/{FLAGS}"), shlex.quote(folder)
    shown = [("Repeat it in another folder", f"{name} --flagfile={flags} --output_dir=ANOTHER_FOLDER")]
    is_choice = problem_type(run.manifest.get("problem_type")).has_endings
    has_pairs = any("text_b" in row for row in (run.examples.rows if run.examples else []))
    pair = " --text_b 'another text'" if has_pairs else ""
    for what, use in [_CHOICE_USE] if is_choice else _USES.get(name, ()):
        shown.append((what, f"{name} --output_dir={folder} {use.format(pair=pair)}"))
    # An export takes one text or a pair; the heads of pre-training are not exported.
    if name == "bert-pretrain":
        shown.append(("Fill in words", f"bert-fill-mask 'the dog [MASK] in the garden.' --init_checkpoint={folder}"))
    elif not is_choice:
        shown.append(("Export it", f"bert-export --init_checkpoint={folder} --export_dir=EXPORT/1"))
    shown.append(("Make this page again", f"bert-report {folder}"))
    return shown


def settings(run: Run) -> list[tuple[str, str]]:
    """What decided the result, with the labels."""
    manifest = run.manifest
    shown: dict[str, Any] = {key: value for key, value in manifest.items() if key not in _NO_SETTINGS}
    labels = manifest.get("labels")
    if isinstance(labels, list):
        shown["labels"] = ", ".join(map(str, labels[:12])) + (f", … ({len(labels)})" if len(labels) > 12 else "")
    start = shown.pop("init_checkpoint", None)
    if isinstance(start, dict):
        # The manifest names a checkpoint by several values, of which the first text says most.
        shown["starts from"] = next((value for value in start.values() if isinstance(value, str)), "a checkpoint")
    else:
        shown["starts from"] = str(start) if start else "random weights"
    # In lower case, as flags.txt has them.
    return facts(
        {key: str(value).lower() if isinstance(value, bool) else _plain(value) for key, value in shown.items()}
    )


def _plain(value: Any) -> str | None:
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(map(str, value)) if isinstance(value, list) else value if value is None else str(value)


def machine(run: Run) -> list[tuple[str, str]]:
    """Device, versions, memory, times."""
    report = run.report
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
        **(report.get("versions") or {}),
    }
    return facts(pairs)


def run_cards(run: Run) -> list[Card]:
    """Commands, settings, machine, model, and all numbers of eval_results.txt."""
    counts = run.report.get("parameters") or {}
    named = {"parameters" if part == "total" else f"of these {part}": f"{count:,}" for part, count in counts.items()}
    config = facts(named | {name: _plain(value) for name, value in run.manifest["config"].items()})
    cards = [
        Card("card-commands", "Commands", "commands", commands(run), is_wide=True),
        Card("card-settings", "Settings that decide the result", "facts", settings(run)),
        Card("card-machine", "Machine", "facts", machine(run)),
        Card("card-model", "Model", "facts", config),
    ]
    if run.results:
        table = ReportTable(("name", "value"), [(name, f"{value:,.7g}") for name, value in run.results.items()])
        cards.append(Card("card-results", EVAL_RESULTS, "table", table))
    return cards
