"""The end of a run: the facts about its machine, its page report.html, and a few lines at the
terminal.
"""

import os
import platform
import time
import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError, first_line
from bert_cli.base.log import LOG
from bert_cli.base.names import EVAL_EXAMPLES, MANIFEST, PAGE, SEVERAL
from bert_cli.base.version import __version__
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.outputs.dry_run import length_figures
from bert_cli.outputs.eval_examples import EvalExamples, write_eval_examples
from bert_cli.report.components import clock
from bert_cli.report.main_metric import best_step, display_name, main_metric, score
from bert_cli.report.overview import commands
from bert_cli.report.page import compare, comparison_page, run_page, write_page
from bert_cli.report.run_files import Run, read_run
from bert_cli.report.sweeps import member_folders, read_sweep
from bert_cli.runs.output_dir import run_folder
from bert_cli.runs.output_dir.manifest import COMMAND, read_manifest, read_report
from bert_cli.runs.output_dir.owned_files import owned_names
from bert_cli.runtime.memory import peak_memory
from bert_cli.settings.training import Page

if TYPE_CHECKING:
    from bert_cli.runs.engine.predictor import Predictor


def run_facts(session: "Predictor", sequences: Mapping[str, RaggedFeatures]) -> dict[str, Any]:
    """For run_report.json: when and on what the run was computed, its memory, and the lengths of
    its inputs.
    """
    facts: dict[str, Any] = {
        "finished": time.strftime("%Y-%m-%d %H:%M"),
        "peak_memory_bytes": peak_memory(),
    } | session.facts()
    facts["versions"] = {
        "bert_cli": __version__,
        **facts["versions"],
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    known = {split: each.lengths for split, each in sequences.items() if len(each)}
    limit = session.max_seq_length
    return facts | {"lengths": {split: length_figures(lengths, limit) for split, lengths in known.items()}}


def keep_examples(folder: str, compute: Callable[[], EvalExamples] | None, writes: bool) -> None:
    """Compute what the report shows of single rows, and write eval_examples.jsonl, where this
    process `writes`.

    The results of the evaluation are written before. Whatever goes wrong here is one line of
    warning; the file of an earlier evaluation is removed then, as it belongs to other results.
    """
    path = os.path.join(folder, EVAL_EXAMPLES)
    try:
        examples = compute() if compute else None
        if writes and examples:
            write_eval_examples(path, examples)
    except Exception as error:
        LOG.warning("warning: %s was not written: %s; the report will show no single rows", path, cause(error))
        examples = None
    if writes and not examples:
        files.remove(path)


def make_page(folder: str) -> list[str]:
    """Write report.html of a run, or of several that one command made, into its folder; returns
    what is to be said of it.

    InputError where there is no run, or a report.html of somebody else's.
    """
    sweep = read_sweep(folder)
    if sweep:
        runs = [read_run(member) for member in member_folders(folder)]
        return [_write(folder, comparison_page(compare(runs, sweep)))]
    run = read_run(folder)
    return summary(run, _write(folder, run_page(run)))


def _write(folder: str, page: str) -> str:
    """Write the page into the folder of its run or runs; returns the line that names it."""
    path = os.path.join(folder, PAGE)
    is_listed = PAGE in owned_names(folder)
    if files.exists(path) and not is_listed:
        raise InputError(f"{path}: no run of ours has listed it as its own; move it away, and use bert-report")
    write_page(path, page)
    if not is_listed:  # the run is from before there was one
        run_folder.write_report(folder, {}, (PAGE,))
    return f"wrote {path}, a page to look at"


def finish(folder: str, page: Page, has_news: bool = True, names_next: bool = True) -> None:
    """Write the page of a training run if it is wanted and has news, and log the run's result.

    names_next: whether the log ends with the command that uses the model.

    The weights and results are written before. Whatever goes wrong with the page, a library that is
    missing included, is one line of warning that names the cause, as the run is none the worse for
    it.
    """
    if not has_news or not files.exists(os.path.join(folder, MANIFEST)):
        return
    lines: list[str] = []
    try:
        is_sweep = bool(member_folders(folder))
        # Runs that have not been compared yet: what compares them makes the page.
        if SEVERAL in (read_manifest(folder) or {}) and not is_sweep:
            return
        if not page.report and PAGE in owned_names(folder):  # of an earlier run: it belongs to other results
            files.remove(os.path.join(folder, PAGE))
        if is_sweep:
            lines = [_comparison_summary(folder)]  # which is said where the page fails, too
            lines += make_page(folder) if page.report else []
        else:
            run = read_run(folder)
            lines = summary(run, names_next=names_next)  # which is logged if the page fails, too
            if page.report:
                lines = summary(run, _write(folder, run_page(run)), names_next=names_next)
    except Exception as error:
        LOG.warning(
            "warning: %s was not written: %s; all else is in place, and `bert-report %s` tries "
            "again",
            os.path.join(folder, PAGE), cause(error), folder,
        )  # fmt: skip
    for line in lines:
        LOG.info(line)


def cause(error: Exception) -> str:
    """One line that says what went wrong, and where in the code unless the user can mend it."""
    if isinstance(error, InputError):
        return first_line(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {first_line(error)} ({os.path.basename(place.filename)}:{place.lineno})"


def _comparison_summary(folder: str) -> str:
    """The time of several runs, and the metric of the best one, or the mean where there is no best
    one.
    """
    report = read_report(folder) or {}
    several = report[SEVERAL]
    results = report.get("eval", {})
    metric = report.get("metric", "")
    line = f"done in {clock(report.get('total_seconds'))}"
    if metric not in results:
        return line
    command = (read_manifest(folder) or {}).get(COMMAND, "")
    of = f"of the best run, {several['best']}" if several["best"] else f"mean of {len(several['members'])} runs"
    return f"{line}: {display_name(metric)} {score(command, metric, results[metric])}, {of}"


def summary(run: Run, *written: str, names_next: bool = True) -> list[str]:
    """Return lines with the metric, the best step, the `written` files, and the next command."""
    metric = main_metric(run.results, run.manifest)
    step = run.report.get("global_step")
    line = f"done in {clock(run.report.get('total_seconds'))}"
    if metric:
        line += f": {display_name(metric)} {score(run.command, metric, run.results[metric])} at step {step}"
    best = best_step(run.evaluations, metric)
    if best and best.step != step:
        line += f" (best {score(run.command, metric, best.value)} at step {best.step})"
    lines = [line, *written]
    use = next((command for _, command in commands(run)[1:2]), "")
    return [*lines, f"next: {use}"] if use and names_next else lines
