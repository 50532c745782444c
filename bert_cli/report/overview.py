"""What every run has: its numbers in short, its settings, the commands that repeat it and use it,
and its machine.
"""

import os
import shlex

from bert_cli.base.names import EVAL_RESULTS, FLAGS
from bert_cli.problem_types.registry import problem_type
from bert_cli.report.baselines import baseline_tiles
from bert_cli.report.components import Card, ReportTable, Tile, clock, facts, memory, number, plain, setting
from bert_cli.report.figures import Line, line_card
from bert_cli.report.main_metric import display_name, main_metric, score
from bert_cli.report.run_files import Run
from bert_cli.report.run_settings import settings_card

# Flags that use a model besides --output_dir, and what they do.
_USES = {
    "bert-classify": (
        ("Answer a text", "--text 'a text'{pair}"),
        ("Show which words matter", "--explain 'a text'{pair}"),
        ("Classify a file, one text per line", "--input_file=texts.txt"),
    ),
    "bert-tag": (("Tag a text", "--text 'a text'"),),
    "bert-squad": (("Answer the questions of a file", "--do_predict --predict_file=dev.json"),),
}
_CHOICE_USE = ("Choose among the endings of a file with the same columns", "--do_predict --predict_file=FILE")


def tiles(run: Run) -> list[Tile]:
    """The main metric of the model and of the baselines; none before an evaluation."""
    report = run.report
    metric = main_metric(run.results, run.manifest)
    if not metric:
        return []
    rows = report.get("eval", {}).get("eval_examples")
    note = f"on {number(rows)} held-out rows" if rows else "on held-out data"
    # global_step is the step of the best checkpoint where the run kept one, and last_step the end
    # of the training.
    step, last = report.get("global_step"), report.get("last_step")
    if step and last and last != step:
        note += f", after step {number(step)} of {number(last)}"
    result = Tile(score(run.command, metric, run.results[metric]), display_name(metric), note)
    return [result, *baseline_tiles([run], metric)]


def title(run: Run) -> str:
    """The data set and the main metric."""
    metric = main_metric(run.results, run.manifest)
    result = f"{display_name(metric)} {score(run.command, metric, run.results[metric])}" if metric else ""
    return " · ".join(each for each in (run.data_set, result) if each)


def lengths_cards(run: Run) -> list[Card]:
    """How long the inputs of each split are, and how many were cut."""
    lengths, cut = run.report.get("lengths") or {}, run.report.get("cut_examples") or {}
    if not lengths:
        return []
    series, rows = [], []
    for split, each in lengths.items():
        edges = each["edges"]
        total = max(1, sum(each["counts"]))
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
    name = run.command
    folder = run.folder if "://" in run.folder else os.path.abspath(run.folder)
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


def machine(run: Run) -> list[tuple[str, str]]:
    """Device, versions, memory, times."""
    report = run.report
    pairs = {
        "device": report.get("devices"),
        "precision": report.get("precision"),
        "memory at its peak": memory(report.get("peak_memory_bytes")),
        "memory of the device": memory(report.get("peak_device_memory_bytes")),
        "steps": report.get("last_step", report.get("global_step")),
        "training": clock(report.get("train_seconds")),
        "last command": clock(report.get("total_seconds")),
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
    config = facts(named | {name: plain(value) for name, value in run.manifest["config"].items()})
    cards = [
        Card("card-commands", "Commands", "commands", commands(run), is_wide=True),
        settings_card(run),
        Card("card-machine", "Machine", "facts", machine(run)),
        Card("card-model", "Model", "facts", config),
    ]
    if run.results:
        rows = [(name, setting(value, 7)) for name, value in run.results.items()]  # the digits of the file
        table = ReportTable(("name", "value"), rows)
        cards.append(Card("card-results", EVAL_RESULTS, "table", table))
    return cards
