"""How the training went: curves over the steps."""

from bert_cli.report.figures import Line, lines
from bert_cli.report.headline import best_step, main_metric, spoken
from bert_cli.report.parts import Card, Section, figure_card, number
from bert_cli.report.run_files import Run


def training_section(run: Run) -> Section:
    """Loss, learning rate, metric on held-out data, and speed; empty where there is no history."""
    cards = [*_curves(run), *_metric(run)]
    speed = run.series("examples_per_second")
    if len(speed[0]) > 1:
        figure = lines("speed", "Examples per second", [Line("examples/s", *speed)], "step", "examples per second")
        cards.append(figure_card("card-speed", "Speed", figure, "Without the time that evaluations took."))
    return Section("training", "Training", tuple(cards))


def _curves(run: Run) -> list[Card]:
    loss, rate, cards = run.series("loss"), run.series("learning_rate"), []
    held_out = [(step, values["eval_loss"]) for step, values in run.evaluations if "eval_loss" in values]
    if loss[0]:
        series = [Line("training", *loss)]
        if held_out:
            steps, values = zip(*held_out, strict=True)
            series.append(Line("held-out data", steps, values, points=True))
        figure = lines("loss", "Loss over the steps", series, "step", "loss")
        note = f"At the end {number(loss[1][-1])}; each point is a mean over the steps before it."
        cards.append(figure_card("card-loss", "Loss", figure, note))
    if rate[0]:
        figure = lines("rate", "Learning rate over the steps", [Line("rate", *rate)], "step", "learning rate")
        cards.append(figure_card("card-rate", "Learning rate", figure, f"Up to {max(rate[1]):.3g}."))
    return cards


def _metric(run: Run) -> list[Card]:
    evaluations = run.evaluations
    metric = main_metric(evaluations[-1][1], run.manifest) if evaluations else ""
    best = best_step(evaluations, metric)
    if not best or len(evaluations) < 2:
        return []
    found = [(step, values[metric]) for step, values in evaluations if metric in values]
    steps, values = zip(*found, strict=True)
    line = Line(spoken(metric), steps, values, points=True)
    figure = lines("metric", "Held-out metric over the steps", [line], "step", spoken(metric))
    return [figure_card("card-metric", f"Held-out data: {spoken(metric)}", figure, _best_note(best))]


def _best_note(best: tuple[int, float]) -> str:
    return f"Best: {number(best[1])} after step {best[0]:,}."
