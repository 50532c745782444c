"""Comparison of two trained models on the dev rows that their trainings evaluated."""

import os

from bert_cli.api.results.comparison import Comparison, make_comparison
from bert_cli.api.results.page import Page
from bert_cli.api.training import TrainableModel, run_folder
from bert_cli.base import files
from bert_cli.base.errors import InputError, InputTypeError, name_arguments_in_errors, refuse_if
from bert_cli.flags.paths import path_text
from bert_cli.run_directory.manifest import LABEL_TYPE

RunSource = str | os.PathLike | TrainableModel


@name_arguments_in_errors()
def compare(first: RunSource, second: RunSource) -> Comparison:
    """Return whether two runs differ on the same dev rows, as `bert-report first second` does.

    Args:
        first, second: output directories of two trainings with an evaluation, or models that were
            trained or loaded from there.

    Returns:
        McNemar's exact test of right and wrong rows, the paired bootstrap of each metric, and the
        rows that only one run predicts right.

    Raises:
        InputError: if a directory has no single run with evaluated rows, the runs are of several
            commands, or their rows differ.
    """
    # Import late: includes the report.
    from bert_cli.report.page import compare_runs, comparison_page
    from bert_cli.report.run_files import read_run
    from bert_cli.report.sweeps import member_folders

    folders = [_folder(run, name) for run, name in ((first, "first"), (second, "second"))]
    for folder in folders:
        runs = member_folders(folder)
        advice = f"give one of them, such as {''.join(runs[:1])}"
        refuse_if(runs, f"{folder}: has {len(runs)} runs; {advice}")
    is_same = files.resolve(folders[0]) == files.resolve(folders[1])
    refuse_if(is_same, f"{folders[0]}: is both runs; give two runs")
    compared = compare_runs([read_run(folder) for folder in folders])
    reason = compared.warning or compared.untested
    if compared.significance is None:
        reason = reason or f"are runs of {compared.runs[0].command}, which has no test"
        raise InputError(f"{folders[0]} and {folders[1]}: {reason}")
    page = Page(f"Comparison of {' and '.join(compared.names)}", comparison_page(compared))
    label_type = compared.runs[0].manifest.get(LABEL_TYPE)
    return make_comparison(compared.significance, page, str(label_type) if label_type else None)


def _folder(run: object, name: str) -> str:
    """Return the directory of a run."""
    if isinstance(run, TrainableModel):
        return run_folder(run)
    if not isinstance(run, str | os.PathLike):
        problem = f"{name}: is a {type(run).__name__}"
        raise InputTypeError(f"{problem}; give an output directory or a trained model")
    return path_text(run, name)
