"""HTML pages for one run or several runs: cards in templates/page.html, which escapes all texts."""

import functools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bert_cli import __version__
from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.writing import atomic_write
from bert_cli.problem_types.kinds import CLASSIFICATION, PRETRAINING, QUESTIONS, TAGGING, VECTORS
from bert_cli.report.classification import classification_cards
from bert_cli.report.comparison import RunComparison
from bert_cli.report.components import Section
from bert_cli.report.evaluations import pretraining_cards, squad_cards, tagging_cards, vector_cards
from bert_cli.report.figures import silence_matplotlib
from bert_cli.report.overview import intervals_card, lengths_cards, run_cards, tiles, title
from bert_cli.report.run_files import Run
from bert_cli.report.sweeps import SweepReport
from bert_cli.report.training import training_cards

if TYPE_CHECKING:
    from jinja2 import Template

GENERATOR = "bert_cli"
_MARK = f'<meta name="generator" content="{GENERATOR} '
_TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates")
EVALUATIONS = {
    CLASSIFICATION.command: classification_cards,
    TAGGING.command: tagging_cards,
    QUESTIONS.command: squad_cards,
    PRETRAINING.command: pretraining_cards,
    VECTORS.command: vector_cards,
}


def slow_packages() -> tuple[str, ...]:
    """Return the modules that a page needs and that take long to import, after silencing their log."""
    silence_matplotlib()
    return "matplotlib.figure", "matplotlib.backends.backend_svg", "jinja2"


@functools.cache
def _template(name: str) -> tuple["Template", str]:
    """Return a template and the style sheet."""
    import jinja2
    import markupsafe

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["drawn"] = markupsafe.Markup  # only for our own SVG and style
    style = files.read_bytes(os.path.join(_TEMPLATES, "style.css")).decode("utf-8")
    return environment.get_template(name), style


def render_template(name: str, **values: Any) -> str:
    """Render a template as HTML; templates escape all values except our own drawings."""
    template, style = _template(name)
    return template.render(values, style=style, generator=f"{GENERATOR} {__version__}")


def _render(sections: Sequence[Section], **header: Any) -> str:
    """Render the page; `header` has title, over and under (lines around it), tiles and warning."""
    filled_sections = [section for section in sections if any(card.content for card in section.cards)]
    return render_template("page.html", sections=filled_sections, **header)


def run_page(run: Run) -> str:
    """Return a run's page as HTML."""
    # A newer version's run.json may have other commands.
    evaluation = EVALUATIONS.get(run.command)
    sections = [
        Section("training", "Training", training_cards(run)),
        Section("evaluation", "Evaluation", [*(evaluation(run) if evaluation else ()), intervals_card(run)]),
        Section("inputs", "Inputs", lengths_cards(run)),
        Section("run", "The run", run_cards(run)),
    ]
    task = run.manifest.get("task_name")
    over = f"{run.command} · {task}" if task and run.command == CLASSIFICATION.command else run.command
    under = [
        run.name,
        *filter(None, (run.report.get("finished"), run.report.get("devices"), run.report.get("precision"))),
    ]
    return _render(sections, title=title(run), over=over, under=" · ".join(under), tiles=tiles(run), warning="")


def compare_runs(runs: Sequence[Run], sweep: SweepReport | None = None, page_folder: str = "") -> RunComparison:
    """Return a comparison of runs that used the same command; see RunComparison.

    Raises:
        InputError: the runs used several commands.
    """
    commands = dict.fromkeys(run.command for run in runs)
    if len(commands) > 1:
        raise InputError(f"runs of {' and '.join(commands)} cannot be compared; give runs of one command")
    return RunComparison(runs, sweep, page_folder)


def comparison_page(compared: RunComparison) -> str:
    """Return the page for several runs as HTML."""
    folder = os.path.basename(os.path.normpath(compared.sweep.folder)) if compared.sweep else ""
    return _render(
        compared.sections(),
        title=compared.title(),
        over=compared.runs[0].command,
        under=" · ".join(piece for piece in (folder, ", ".join(cell.name for cell in compared.cells)) if piece),
        tiles=compared.tiles(),
        warning=compared.warning,
    )


def is_our_page(path: str) -> bool:
    """Return whether bert_cli made this HTML file."""
    return _MARK.encode() in files.read_bytes(path)[:4096]


def write_page(path: str, page: str) -> None:
    """Write a page, whole or not at all; half a surrogate pair becomes a question mark."""
    with atomic_write(path) as file:
        file.write(page.encode("utf-8", "replace").decode("utf-8"))
