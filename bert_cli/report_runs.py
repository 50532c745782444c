"""Write the report of a training run, or a comparison of several runs.

For one output_dir it writes report.html, as each training run does at its end. The page has curves,
scores, mistakes, settings and the commands to repeat the run, in one file that needs no network. For
several runs of one command (bert-report bert_output my_second) it compares their results, their
curves and the settings that differ.

Examples:

    bert-classify --do_train --do_eval --train_file=data/reviews.csv \\
      --dev_split=0.1 --output_dir=bert_output/reviews
    bert-report bert_output/reviews
    mkdir -p bert_output/pages
    bert-report bert_output/reviews --output_file=bert_output/pages/reviews.html
"""

import os

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import list_some
from bert_cli.base.log import LOG, RESULT
from bert_cli.base.names import MANIFEST, PAGE, STANDARD
from bert_cli.flags.command import Command
from bert_cli.report.page import compare_runs, comparison_page, is_our_page, run_page, write_page
from bert_cli.report.run_files import read_run
from bert_cli.report.sweeps import member_folders, read_sweep
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.reporting import make_page
from bert_cli.settings.tools import ReportSettings

_COMPARISON = "comparison.html"


def check(settings: ReportSettings, given_names: frozenset[str]) -> ReportSettings:
    """Return the settings; raise InputError unless they name different runs."""
    folders = settings.runs.runs
    # Compare resolved paths: two names may lead to the same directory.
    resolved_folders = {files.resolve(folder) for folder in folders}
    refuse_if(len(resolved_folders) < len(folders), f"{list_some(folders)}: a run is named twice; name each once")
    refuse_if(settings.files.output_file == STANDARD, "--output_file=-: a page is written to a file; give its name")
    return settings


def _check_target(path: str, folders: tuple[str, ...]) -> None:
    """Raise InputError if the page cannot be written, or would replace a file that is not our page."""
    for folder in folders:
        if files.resolve(os.path.dirname(path) or ".") == files.resolve(folder):
            raise InputError(
                f"--output_file={path}: lies in the folder of a run; leave it out for "
                f"{os.path.join(folder, PAGE)}, or give another place"
            )
    files.check_output_files([path], [os.path.join(folder, MANIFEST) for folder in folders])
    if files.exists(path) and not is_our_page(path):
        raise InputError(f"{path}: is not a page of bert-report, and would be written over; give another --output_file")


def _page(folders: tuple[str, ...], page_folder: str) -> str:
    runs = [read_run(leaf) for folder in folders for leaf in member_folders(folder) or [folder]]
    if len(runs) == 1:
        return run_page(runs[0])
    compared = compare_runs(runs, read_sweep(folders[0]) if len(folders) == 1 else None, page_folder)
    if compared.warning:
        LOG.warning("warning: %s", compared.warning)
    if compared.untested:
        LOG.warning("warning: whether the runs differ was not tested: %s", compared.untested)
    for line in compared.significance.lines() if compared.significance else ():
        LOG.log(RESULT, line)
    return comparison_page(compared)


def run(settings: ReportSettings) -> dict:
    """Write the page, and return {"page": its path}."""
    folders = settings.runs.runs
    path = settings.files.output_file
    if len(folders) == 1 and not path:
        files.check_can_write(folders[0], "output_file")
        make_page(RunDirectory(folders[0]))
        path = os.path.join(folders[0], PAGE)
    else:
        path = path or _COMPARISON
        _check_target(path, folders)
        write_page(path, _page(folders, os.path.dirname(path) or "."))
    LOG.info("wrote %s", path)
    return {"page": path}


main = Command("bert-report", __doc__, ReportSettings, run, check, interrupted="nothing was written")


if __name__ == "__main__":
    raise SystemExit(main())
