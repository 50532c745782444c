"""The flags of bert-report, what asks a run for its report, and a classifier for its reasons."""

import dataclasses

from bert_cli.flags.option import group, option
from bert_cli.settings.groups import Log, Output


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What to do"""

    explain: str = option(
        "",
        "classify this text with a trained model, and show which of its words mattered: colours on a terminal, else JSON",
        passing=True,
    )


@dataclasses.dataclass(frozen=True)
class Page:
    """Report"""

    report: bool = option(
        True,
        "end with report.html, a page of curves, scores and mistakes; bert-report makes it later too",
        passing=True,
    )


@dataclasses.dataclass(frozen=True)
class Runs:
    """Runs"""

    runs: tuple[str, ...] = option((), "the folders of training runs (their --output_dir)", words=True)


@dataclasses.dataclass(frozen=True)
class ReportSettings:
    """The flags of bert-report."""

    runs: Runs = group(Runs)
    output: Output = group(
        Output,
        {
            "output_file": "the page to write; default: report.html in the folder of one run, comparison.html here for several"
        },
    )
    log: Log = group(Log)
