"""Significance of the difference between two runs, from the rows that their evaluations kept."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bert_cli.base.names import EVAL_EXAMPLES
from bert_cli.metrics.bootstrap import CONFIDENCE
from bert_cli.metrics.classification import LOSSES
from bert_cli.metrics.selection import Metric
from bert_cli.metrics.significance import SAMPLES, Difference, McNemar, Measure, mcnemar, paired_bootstrap
from bert_cli.metrics.tagging import EntityCounts
from bert_cli.outputs.eval_examples import ENTITY_COUNTS
from bert_cli.problem_types.kinds import CLASSIFICATION, QUESTIONS, TAGGING
from bert_cli.problem_types.parts import LabelSet
from bert_cli.problem_types.registry import problem_type
from bert_cli.report.components import Card, ReportTable, number, number_formatter
from bert_cli.report.main_metric import display_name
from bert_cli.report.run_files import Run

_SHOWN_ROWS = 50
_MOST_DECISIONS = 50_000  # rows times labels
_UNWEIGHTED = "These figures count each row once, without the weights of --weighted_metrics."
_SAME, _DIFFERENT, UNTESTED = "not different", "different", "not tested"
# Members of a row that hold the data, not a prediction.
_GOLD = ("row", "label", "labels", "value", "is_answerable", "gold_entities")


class ScoredRun(NamedTuple):
    """A run's rows with scores.

    Attributes:
        is_right: whether the prediction of each row is right, bool [n]; None for numbers.
        measure: returns metrics of rows by number.
        names: metrics to compare.
        decisions: prediction per row: a label, an answer's F1, or the number of correct entities.
        gold: the data's side of a decision: at most one column, by name.
    """

    is_right: np.ndarray | None
    measure: Measure
    names: Sequence[str]
    decisions: Sequence[Any]
    gold: Mapping[str, Sequence[Any]]


class DifferingRow(NamedTuple):
    """A row that one run predicts right and the other one wrong.

    Attributes:
        examples: the row in both files.
        decisions: both predictions, see ScoredRun.
        gold: see ScoredRun, with this row's value.
    """

    examples: tuple[Mapping[str, Any], Mapping[str, Any]]
    decisions: tuple[Any, Any]
    gold: Mapping[str, Any]

    @property
    def number(self) -> int:
        """Return the row's number in the data, from 0."""
        return self.examples[0]["row"]

    @property
    def text(self) -> str:
        """Return the row's text, "" if neither file has it."""
        first, second = self.examples
        return _text(first) or _text(second)


def _score_classification(run: Run, head: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> ScoredRun:
    problem = problem_type(head["kind"])
    thresholds = head.get("thresholds", ())
    label_ids, predictions = problem.columns.read_eval_rows(rows)
    names = tuple(head.get("labels", ()))
    positive = run.positive_label if run.positive_label in names else ""
    labels = LabelSet(names, np.array(thresholds, np.float64) if thresholds else None, positive=positive)

    def measure(numbers: np.ndarray) -> Mapping[str, Metric]:
        sample = {name: column[numbers] for name, column in predictions.items()}
        return problem.metrics.measure(label_ids[numbers], sample, labels, len(numbers))

    calibrator = problem.calibrator
    is_right = ~calibrator.metrics.is_wrong(label_ids, predictions, labels) if calibrator else None
    # Sorting more probabilities in each sample would take minutes.
    is_slow = problem.metrics.num_sorted(label_ids) > _MOST_DECISIONS
    compared = [name for name in problem.metrics.names(labels) if name not in LOSSES and not is_slow]
    decisions = problem.decoder.decisions(predictions, labels)
    return ScoredRun(is_right, measure, compared, decisions, {"label": problem.decoder.label_values(label_ids, labels)})


def _score_questions(run: Run, head: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> ScoredRun:
    scores = {name: np.array([row[name] for row in rows], np.float64) for name in ("exact", "f1")}

    def measure(numbers: np.ndarray) -> Mapping[str, Metric]:
        return {name: 100 * float(column[numbers].mean()) for name, column in scores.items()}

    return ScoredRun(scores["exact"] == 1, measure, list(scores), scores["f1"].tolist(), {})


def _score_tags(run: Run, head: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> ScoredRun:
    counts = np.array([[row[name] for name in ENTITY_COUNTS] for row in rows], np.int64)

    def measure(numbers: np.ndarray) -> Mapping[str, Metric]:
        return {"eval_f1": EntityCounts(*counts[numbers].sum(axis=0).tolist()).f1}

    # All entities are right if none is missing and none is wrong.
    columns = dict(zip(ENTITY_COUNTS, counts.T.tolist(), strict=True))
    gold, correct = ENTITY_COUNTS[0], columns[ENTITY_COUNTS[2]]
    return ScoredRun((counts == counts[:, :1]).all(axis=1), measure, ["eval_f1"], correct, {gold: columns[gold]})


_SCORES = {
    CLASSIFICATION.command: _score_classification,
    QUESTIONS.command: _score_questions,
    TAGGING.command: _score_tags,
}


class Significance(NamedTuple):
    """The comparison of two runs.

    Attributes:
        names: the runs' names.
        test: McNemar's test of right and wrong rows, None for numbers.
        differences: differences in metrics.
        rows: the rows that only one run predicts right.
        gold_columns: names in DifferingRow.gold.
        num_rows: number of compared rows.
        positive_label: label that F1 is of.
        is_weighted: whether a run's metrics weight the rows, which the comparison does not.
    """

    names: tuple[str, str]
    test: McNemar | None
    differences: list[Difference]
    rows: list[DifferingRow]
    gold_columns: Sequence[str]
    num_rows: int
    positive_label: str
    is_weighted: bool

    def lines(self) -> list[str]:
        """Return lines for the log."""
        return [" · ".join(filter(None, row)) for row in self._table()] + [_UNWEIGHTED] * self.is_weighted

    def _table(self) -> list[tuple[str, str, str]]:
        first, second = self.names
        rows = []
        if self.test:
            verdict = _DIFFERENT if self.test.is_different else _SAME
            counts = f"{self.test.only_first:,} only {first}, {self.test.only_second:,} only {second}"
            rows.append(("right rows", f"{verdict} (McNemar, p = {self.test.p_value:.3g})", counts))
        for difference in self.differences:
            name, old, new, low, high = difference
            write = number_formatter([old, new])
            verdict = _DIFFERENT if difference.is_different else _SAME
            interval = f"{second} minus {first}: {new - old:+.4f}, {CONFIDENCE:.0%} from {low:+.4f} to {high:+.4f}"
            values = f"{write(old)} and {write(new)}"
            rows.append((display_name(name, self.positive_label), f"{verdict} ({values})", interval))
        return rows

    def cards(self) -> list[Card]:
        """Return the table of differences, and the rows with different outcomes."""
        note = (
            f"On {self.num_rows:,} rows: McNemar's exact test, and {SAMPLES:,} bootstrap samples that both runs share."
        ) + f" {_UNWEIGHTED}" * self.is_weighted
        table = ReportTable(("measure", "verdict", "difference"), self._table())
        shown = [(number(row.number), row.text, *map(_outcome, row.examples)) for row in self.rows[:_SHOWN_ROWS]]
        rows = ReportTable(("row", "text", *self.names), shown)
        rest = f"The first {len(shown)} of {len(self.rows):,} rows that one of the runs predicts right and the other wrong."
        return [
            Card("card-significance", "Is the difference significant?", "table", table, note, is_wide=True),
            Card("card-differing", "Rows where they differ", "table", rows if shown else None, rest, is_wide=True),
        ]


def _text(row: Mapping[str, Any]) -> str:
    return row.get("question") or row.get("text") or " ".join(row.get("words", ()))


def _outcome(row: Mapping[str, Any]) -> str:
    if ENTITY_COUNTS[0] in row:
        gold, predicted, correct = (row[name] for name in ENTITY_COUNTS)
        return f"{correct} of {gold} entities, {predicted} predicted"
    if "probabilities" not in row:
        return f"F1 {number(row['f1'])}" if "f1" in row else ""
    return ", ".join(f"{probability:.3f}" for probability in row["probabilities"][:5])


def _find_obstacle(runs: Sequence[Run], names: Sequence[str]) -> str:
    """Return why the rows of two runs cannot be compared, "" if they can."""
    for run, name in zip(runs, names, strict=True):
        if not run.examples or not run.examples.rows:
            return f"{name} has no rows in {EVAL_EXAMPLES}; evaluate it again with --report"
        if run.command == TAGGING.command and ENTITY_COUNTS[0] not in run.examples.rows[0]:
            return f"{name} counts no entities in {EVAL_EXAMPLES}, as older versions; evaluate it again"
    a, b = (run.examples for run in runs if run.examples)
    both = f"{EVAL_EXAMPLES} of {names[0]} and {names[1]}"
    for member in ("kind", "labels", "rows"):
        if a.head.get(member) != b.head.get(member):
            return f"{both} differ in {member}; evaluate both on the same rows, with the same --labels"
    gold = [[{name: row[name] for name in _GOLD if name in row} for row in examples.rows] for examples in (a, b)]
    differing = next((first["row"] for first, second in zip(*gold, strict=False) if first != second), None)
    if differing is not None or len(gold[0]) != len(gold[1]):
        place = f"row {differing}" if differing is not None else "the number of rows"
        return f"{both} differ in {place}; evaluate both on the same rows"
    labels = [run.positive_label for run in runs]
    return "" if labels[0] == labels[1] else f"F1 is of {' and '.join(labels)}; evaluate both with one --positive_label"


def compare_pair(runs: Sequence[Run], names: Sequence[str]) -> tuple[Significance | None, str]:
    """Return the comparison of two runs, or None and the reason; "" if the command has no test."""
    score = _SCORES.get(runs[0].command)
    if not score:
        return None, ""
    if obstacle := _find_obstacle(runs, names):
        return None, obstacle
    a, b = (score(run, run.examples.head, run.examples.rows) for run in runs if run.examples)
    rows, others = (run.examples.rows for run in runs if run.examples)
    test, differing = None, np.array([], np.intp)
    if a.is_right is not None and b.is_right is not None:
        test, differing = mcnemar(a.is_right, b.is_right), np.flatnonzero(a.is_right != b.is_right)
    differences = paired_bootstrap(a.measure, b.measure, a.names, len(rows)) if a.names else []
    pairs = [
        DifferingRow(
            (rows[row], others[row]),
            (a.decisions[row], b.decisions[row]),
            {name: column[row] for name, column in a.gold.items()},
        )
        for row in differing.tolist()
    ]
    positive_label = runs[0].positive_label
    is_weighted = any(run.manifest.get("weighted_metrics") for run in runs)
    pair = Significance(
        (names[0], names[1]), test, differences, pairs, list(a.gold), len(rows), positive_label, is_weighted
    )
    return pair, ""


def untested_card(reason: str) -> Card:
    """Return the table for runs that cannot be compared."""
    table = ReportTable(("verdict", "reason"), [(UNTESTED, reason)])
    return Card("card-significance", "Is the difference significant?", "table", table, is_wide=True)
