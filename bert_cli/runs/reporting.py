"""The end of a run: facts about the machine, report.html, and the last log lines."""

import datetime
import os
import platform
import time
import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from bert_cli import __version__
from bert_cli.base import files
from bert_cli.base.errors import InputError, first_line, refuse_if
from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import LOG
from bert_cli.base.names import AVERAGED_RUNS, EVAL_EXAMPLES, EVAL_RESULTS, MANIFEST, PAGE, REPORT, SEVERAL
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.outputs.dry_run import length_figures
from bert_cli.outputs.eval_examples import EvalExamples, write_eval_examples
from bert_cli.report.components import time_span
from bert_cli.report.main_metric import best_step, display_name, format_metric, main_metric
from bert_cli.report.overview import commands, sweep_usages
from bert_cli.report.page import compare_runs, comparison_page, run_page, write_page
from bert_cli.report.run_files import BestStep, Run, read_run
from bert_cli.report.sweeps import member_folders, read_sweep
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.run_directory.manifest import COMMAND
from bert_cli.runs.origin import describe_origin
from bert_cli.runtime.machine import peak_memory
from bert_cli.settings.training import ReportPage

if TYPE_CHECKING:
    from bert_cli.inference.rows import Predictor


def run_facts(predictor: "Predictor", sequences: Mapping[str, RaggedFeatures], seconds: float) -> JsonObject:
    """Return entries for run_report.json: times, origin, versions, memory and input lengths.

    Args:
        predictor: the model that computed the run.
        sequences: split -> sequences.
        seconds: time since the run started.
    """
    now = time.time()
    # With the zone, as runs of several machines are compared.
    started, finished = (
        datetime.datetime.fromtimestamp(moment).astimezone().isoformat(" ", "seconds")
        for moment in (now - seconds, now)
    )
    engine_facts = predictor.engine.facts()
    versions = {
        "bert_cli": __version__,
        **engine_facts["versions"],
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    facts: JsonObject = {
        "started": started,
        "finished": finished,
        "total_seconds": round(seconds, 3),
        "peak_memory_bytes": peak_memory(),
        **describe_origin(),
        **engine_facts,
        "versions": versions,
    }
    lengths_per_split = {split: ragged.lengths for split, ragged in sequences.items() if len(ragged)}
    limit = predictor.max_seq_length
    return facts | {"lengths": {split: length_figures(lengths, limit) for split, lengths in lengths_per_split.items()}}


def keep_examples(directory: RunDirectory, compute: Callable[[], EvalExamples] | None, writes: bool) -> None:
    """Compute single rows for the report, and write eval_examples.jsonl.

    The evaluation's results have been written, so an error here is only a warning. It removes the
    file from an earlier evaluation.

    Args:
        directory: output directory.
        compute: returns the rows, and is called in all processes; None to write no file.
        writes: whether this process writes files.
    """
    path = directory.file(EVAL_EXAMPLES)
    try:
        examples = compute() if compute else None
        if writes and examples:
            write_eval_examples(path, examples)
    except Exception as error:
        LOG.warning("warning: %s was not written: %s; the report will show no single rows", path, describe_error(error))
        examples = None
    if writes and not examples:
        files.remove(path)


def make_page(directory: RunDirectory) -> list[str]:
    """Write report.html for a run or a sweep, and return lines for the log.

    Args:
        directory: directory of the run or sweep.

    Raises:
        InputError: if there is no run, or a report.html that our runs did not write.
    """
    if sweep := read_sweep(directory.path):
        for member in sweep.members:
            cell = RunDirectory(directory.file(member["folder"]))
            if read_sweep(cell.path):
                make_page(cell)
        return [_write(directory, build_page(directory, directory.path))]
    run = read_run(directory.path)
    return run_summary_lines(run, _write(directory, run_page(run)))


def build_page(directory: RunDirectory, page_folder: str = "") -> str:
    """Return the page of a run or a sweep as HTML.

    Args:
        directory: directory of the run or sweep.
        page_folder: the page's directory, for links to pages of a sweep's runs; "" for no links.

    Raises:
        InputError: if there is no run, or it has no report.
    """
    if sweep := read_sweep(directory.path):
        runs = [read_run(member) for member in member_folders(directory.path)]
        return comparison_page(compare_runs(runs, sweep, page_folder))
    run = read_run(directory.path)
    refuse_if(not run.report, f"{directory}: has no {REPORT}, as a copy of a model; give the directory of its training")
    return run_page(run)


def _write(directory: RunDirectory, page: str) -> str:
    """Write the page into a run's directory, and return a log line with its path."""
    path = directory.file(PAGE)
    is_listed = PAGE in directory.owned.names()
    if files.exists(path) and not is_listed:
        raise InputError(f"{path}: no run of ours has listed it as its own; move it away, and use bert-report")
    write_page(path, page)
    if not is_listed:  # the run itself made no page
        directory.write_report({}, (PAGE,))
    return f"wrote {path}, a page to look at"


def finish(directory: RunDirectory, page: ReportPage, has_news: bool = True, names_next: bool = True) -> None:
    """Write a run's page if flags ask for it and there is news, and log the run's result.

    Weights and results have been written, so an error here, such as a missing library, is only a
    warning.

    Args:
        directory: directory of the run or sweep.
        has_news: whether the run has trained or evaluated.
        names_next: whether the log ends with a command that uses the model.
    """
    if not has_news or not files.exists(directory.file(MANIFEST)):
        return
    lines: list[str] = []
    try:
        is_sweep = bool(member_folders(directory.path))
        # The runs of a sweep have not been compared yet. The comparison makes the page.
        if SEVERAL in (directory.manifest or {}) and not is_sweep:
            return
        # A page from an earlier run would show other results.
        if not page.report and PAGE in directory.owned.names():
            files.remove(directory.file(PAGE))
        if is_sweep:
            following = _next_of_sweep(directory)
            lines = [_comparison_summary(directory), *following]  # also logged if the page fails
            lines = [lines[0], *(make_page(directory) if page.report else []), *following]
        else:
            run = read_run(directory.path)
            lines = run_summary_lines(run, names_next=names_next)  # also logged if the page fails
            if page.report:
                lines = run_summary_lines(run, _write(directory, run_page(run)), names_next=names_next)
    except Exception as error:
        LOG.warning(
            "warning: %s was not written: %s; all else is in place, and `bert-report %s` tries "
            "again",
            directory.file(PAGE), describe_error(error), directory,
        )  # fmt: skip
    for line in lines:
        LOG.info(line)


def describe_error(error: Exception) -> str:
    """Describe an error in one line, with the place in the code unless the user can fix it."""
    if isinstance(error, InputError):
        return first_line(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {first_line(error)} ({os.path.basename(frame.filename)}:{frame.lineno})"


def _comparison_summary(directory: RunDirectory) -> str:
    """Return a line with a sweep's duration, and the metric of its best run, or the mean metric."""
    report = directory.report or {}
    sweep = report[SEVERAL]
    results = report.get("eval", {})
    metric = report.get("metric", "")
    line = f"done in {time_span(report.get('total_seconds'))}"
    if metric not in results:
        return line
    command = (directory.manifest or {}).get(COMMAND, "")
    name = display_name(metric, read_run(member_folders(directory.path)[0]).positive_label)
    run_note = f"of the best run, {sweep['best']}" if sweep["best"] else f"mean of {len(sweep['members'])} runs"
    if AVERAGED_RUNS in report and files.exists(directory.file(EVAL_RESULTS)):
        run_note = f"of the mean prediction of {len(report[AVERAGED_RUNS])} runs"
    return f"{line}: {name} {format_metric(command, metric, results[metric])}, {run_note}"


def _next_of_sweep(directory: RunDirectory) -> list[str]:
    """Return a line with a command that uses a sweep's best run, [] without one."""
    sweep = read_sweep(directory.path)
    run = read_run(member_folders(directory.path)[0])
    usages = sweep_usages(sweep, run) if sweep else []
    return [f"next: {command}" for _, command in usages[:1]]


def run_summary_lines(run: Run, *written: str, names_next: bool = True) -> list[str]:
    """Return lines with the metric, the best step, the `written` lines, and the next command.

    The metric that chose the best checkpoint is added to the main one if they differ.

    Args:
        written: lines about written files.
        names_next: whether to add a command that uses the model.
    """
    metric, step, best = main_metric(run.results, run.manifest), run.report.get("global_step"), run.best
    line = f"done in {time_span(run.report.get('total_seconds'))}"
    if metric:
        names = [metric, best.metric] if best and best.metric in run.results else [metric]
        scores = (
            f"{_name(run, name)} {format_metric(run.command, name, run.results[name])}" for name in dict.fromkeys(names)
        )
        line += f": {', '.join(scores)} at step {step}"
    # Without a best checkpoint, the main metric may have been better earlier.
    if not best and (selection := best_step(run.evaluations, metric)):
        best = BestStep(selection.step, metric, selection.value)
    if best and best.step != step:
        name = "" if best.metric == metric else f"{_name(run, best.metric)} "
        line += f" (best {name}{format_metric(run.command, best.metric, best.value)} at step {best.step})"
    lines = [line, *written]
    next_command = next((command for _, command in commands(run)[1:2]), "")
    return [*lines, f"next: {next_command}"] if next_command and names_next else lines


def _name(run: Run, metric: str) -> str:
    return display_name(metric, run.positive_label)
