"""Cards for every run: main numbers, settings, commands that repeat or use it, and machine."""

import os
import shlex

from bert_cli.base.json_files import member_object
from bert_cli.base.names import EVAL_RESULTS, FLAGS, FOLDS
from bert_cli.metrics.bootstrap import CONFIDENCE
from bert_cli.problem_types.kinds import KINDS
from bert_cli.problem_types.registry import problem_type
from bert_cli.report.components import (
    Card,
    ReportTable,
    Tile,
    format_named_values,
    format_setting,
    format_setting_number,
    memory,
    number,
    number_formatter,
    time_span,
)
from bert_cli.report.figures import Line, line_card
from bert_cli.report.main_metric import baseline_tiles, display_name, format_metric, main_metric
from bert_cli.report.run_files import Run
from bert_cli.report.run_settings import settings_card
from bert_cli.report.sweeps import SweepReport, read_sweep

_AGAIN = "Make this page again"


def tiles(run: Run) -> list[Tile]:
    """Return tiles with the main metric for the model and the baselines, [] before an evaluation."""
    report = run.report
    metric = main_metric(run.results, run.manifest)
    if not metric:
        return []
    rows = report.get("eval", {}).get("eval_examples")
    note = f"on {number(rows)} held-out rows" if rows else "on held-out data"
    # If the run kept the best checkpoint, global_step is its step. last_step is the end of
    # training.
    step, last = report.get("global_step"), report.get("last_step")
    if step and last and last != step:
        note += f", after step {number(step)} of {number(last)}"
    result = Tile(
        format_metric(run.command, metric, run.results[metric]), display_name(metric, run.positive_label), note
    )
    return [result, *baseline_tiles([run], metric)]


def title(run: Run) -> str:
    """Return the data set and the main metric."""
    metric = main_metric(run.results, run.manifest)
    result = (
        f"{display_name(metric, run.positive_label)} {format_metric(run.command, metric, run.results[metric])}"
        if metric
        else ""
    )
    return " · ".join(piece for piece in (run.data_set, result) if piece)


def lengths_cards(run: Run) -> list[Card]:
    """Return cards with the input lengths per split, and the number of cut inputs."""
    lengths, cut = run.report.get("lengths") or {}, run.report.get("cut_examples") or {}
    if not lengths:
        return []
    series, rows = [], []
    for split, figures in lengths.items():
        edges = figures["edges"]
        total = max(1, sum(figures["counts"]))
        width = edges[1] - edges[0]
        middles = [edge + (width - 1) / 2 for edge in edges]
        # Add an empty bar at the end, so that the line returns to 0.
        series.append(Line(split, middles, [100 * count / total for count in (*figures["counts"], 0)], steps=True))
        numbers = number(figures["rows"]), number(figures["median"], 0), number(figures["longest"])
        rows.append((split, *numbers, *([number(cut.get(split, ""))] if cut else [])))
    limit, longest = (max(figures[name] for figures in lengths.values()) for name in ("limit", "longest"))
    # Leave out a mark that is far to the right, which would squeeze the bars.
    mark = limit if longest > 0.6 * limit else None
    note = f"In tokens, [CLS] and [SEP] among them; what is longer than {limit} is cut."
    axes = ("tokens", "per cent of the inputs")
    table = ReportTable(("split", "inputs", "median", "longest", *(["cut"] if cut else [])), rows)
    return [
        line_card("lengths", "Lengths", "Tokens of the inputs", series, axes, note, mark=mark),
        Card("card-splits", "Splits", "table", table),
    ]


def commands(run: Run) -> list[tuple[str, str]]:
    """Return (purpose, command) pairs to repeat the run, use it, and make this page again."""
    folder = _quoted_folder(run.folder)
    flags = shlex.quote(f"{_absolute(run.folder)}/{FLAGS}")
    return [
        ("Repeat it in another folder", f"{run.command} --flagfile={flags} --output_dir=ANOTHER_FOLDER"),
        *_usages(run, folder),
        (_AGAIN, f"bert-report {folder}"),
    ]


def sweep_commands(sweep: SweepReport, run: Run) -> list[tuple[str, str]]:
    """Return (purpose, command) pairs to repeat a sweep, use its best run, and make the page."""
    folder = _quoted_folder(sweep.folder)
    usages = [(f"{purpose}, with the best run", use) for purpose, use in sweep_usages(sweep, run)]
    repeat = [("The command that made these runs", sweep.command_line)] if sweep.command_line else []
    return [*repeat, *usages, (_AGAIN, f"bert-report {folder}")]


def sweep_usages(sweep: SweepReport, run: Run) -> list[tuple[str, str]]:
    """Return (purpose, command) pairs to use a sweep's best run.

    Args:
        sweep: the sweep.
        run: one of its runs.
    """
    # --output_dir loads the best run; folds have no model to load.
    best = read_sweep(os.path.join(sweep.folder, sweep.best)) if sweep.best else None
    has_model = sweep.best and not (best and best.kind == FOLDS)
    return _usages(run, _quoted_folder(sweep.folder)) if has_model else []


def _absolute(folder: str) -> str:
    return folder if "://" in folder else os.path.abspath(folder)


def _quoted_folder(folder: str) -> str:
    """Return a directory's path for a shell: people copy the commands, and paths may have spaces."""
    return shlex.quote(_absolute(folder))


def _usages(run: Run, folder: str) -> list[tuple[str, str]]:
    """Return (purpose, command) pairs that use a model like the run's in a quoted `folder`."""
    has_pairs = any("text_b" in row for row in (run.examples.rows if run.examples else []))
    pair = " --text_b 'another text'" if has_pairs else ""
    # A newer version's run.json may have other commands.
    kind, type_name = KINDS.get(run.command), run.manifest.get("problem_type")
    uses = problem_type(str(type_name)).uses if type_name else kind.uses if kind else ()
    return [(purpose, use.format(folder=folder, pair=pair)) for purpose, use in uses]


def machine(run: Run) -> list[tuple[str, str]]:
    """Return device, versions, memory and times."""
    report = run.report
    pairs = {
        "device": report.get("devices"),
        "precision": report.get("precision"),
        "memory at its peak": memory(report.get("peak_memory_bytes")),
        "memory of the device": memory(report.get("peak_device_memory_bytes")),
        "steps": report.get("last_step", report.get("global_step")),
        "training": time_span(report.get("train_seconds")),
        "last command": time_span(report.get("total_seconds")),
        "examples/s, training": report.get("train_examples_per_second"),
        "examples/s, evaluation": report.get("eval_examples_per_second"),
        "finished": report.get("finished"),
        **(report.get("versions") or {}),
    }
    return format_named_values(pairs)


def run_cards(run: Run) -> list[Card]:
    """Return cards with commands, settings, machine, model, and all numbers in eval_results.txt."""
    counts = run.report.get("parameters") or {}
    named = {
        "parameters" if component == "total" else f"of these {component}": f"{count:,}"
        for component, count in counts.items()
    }
    config = format_named_values(
        named | {name: format_setting(value) for name, value in member_object(run.manifest, "config").items()}
    )
    cards = [
        Card("card-commands", "Commands", "commands", commands(run), is_wide=True),
        settings_card(run),
        Card("card-machine", "Machine", "facts", machine(run)),
        Card("card-model", "Model", "facts", config),
    ]
    if run.results:
        rows = [
            (name, format_setting_number(value, 7)) for name, value in run.results.items()
        ]  # same digits as in the file
        table = ReportTable(("name", "value"), rows)
        cards.append(Card("card-results", EVAL_RESULTS, "table", table))
    return cards


def intervals_card(run: Run) -> Card:
    """Return the confidence intervals from --bootstrap, by metric."""
    rows = []
    for name, (low, high) in run.report.get("eval", {}).get("intervals", {}).items():
        write = number_formatter([low, high])
        value = write(run.results[name]) if name in run.results else ""
        rows.append((display_name(name, run.positive_label), value, write(low), write(high)))
    table = ReportTable(("metric", "value", "from", "to"), rows)
    note = f"{CONFIDENCE:.0%} of the samples of the evaluated rows are between these values."
    return Card("card-intervals", "Confidence intervals", "table", table if rows else None, note)
