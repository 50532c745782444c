"""Training curves: loss, learning rate, held-out metric and speed."""

from collections.abc import Sequence

from bert_cli.report.components import Card, number
from bert_cli.report.figures import Line, line_card
from bert_cli.report.main_metric import best_step, display_name, main_metric
from bert_cli.report.run_files import Run


def metric_card(name: str, lines: Sequence[Line], note: str) -> Card:
    """Return a plot of a held-out metric over the steps.

    Args:
        name: the metric's name for people.
        lines: lines to draw.
        note: sentence below the plot.
    """
    alt = "Held-out metric over the steps"
    return line_card("metric", f"Held-out data: {name}", alt, lines, ("step", name), note)


def training_cards(run: Run) -> list[Card]:
    """Return plots of loss, learning rate, held-out metric and speed, [] without a history."""
    cards = []
    evaluations = run.evaluations
    loss = run.series("loss")
    if loss[0]:
        held_out = run.metric_values("eval_loss")
        series = [Line("training", *loss)]
        if held_out[0]:
            series.append(Line("held-out data", *held_out, points=True))
        note = "Each point is a mean over the steps before it."
        if final := run.report.get("last_loss"):
            note = f"Final loss: {number(final)}, the mean over the last tenth of the steps. {note}"
        cards.append(line_card("loss", "Loss", "Loss over the steps", series, ("step", "loss"), note))
    rate = run.series("learning_rate")
    if rate[0]:
        # Do not use the largest logged rate: the peak is between two history lines.
        peak = number(run.manifest.get("learning_rate", max(rate[1])))
        alt = "Learning rate over the steps"
        axes = ("step", "learning rate")
        note = f"Peak of the schedule: {peak}."
        cards.append(line_card("rate", "Learning rate", alt, [Line("rate", *rate)], axes, note))
    # Use the last evaluation: a run that was extended may have begun without the metric.
    metric = main_metric(evaluations[-1][1], run.manifest) if evaluations else ""
    best = best_step(evaluations, metric)
    # A single evaluation is a number at the top of the page, not a curve.
    if best and len(evaluations) > 1:
        name = display_name(metric, run.positive_label)
        line = Line(name, *run.metric_values(metric), points=True)
        cards.append(metric_card(name, [line], f"Best: {number(best.value)} after step {best.step:,}."))
    speed = run.series("examples_per_second")
    if len(speed[0]) > 1:
        axes = ("step", "examples per second")
        note = "Without the time that evaluations took."
        cards.append(line_card("speed", "Speed", "Examples per second", [Line("examples/s", *speed)], axes, note))
    return cards
