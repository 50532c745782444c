"""Result of a comparison of two runs: figures, and the rows that only one run predicts right."""

import dataclasses
from typing import TYPE_CHECKING, Any

from bert_cli.api.inputs.label_types import read_label_values
from bert_cli.api.results.page import Page
from bert_cli.metrics.significance import Difference, McNemar
from bert_cli.report.significance import Significance

if TYPE_CHECKING:
    import pandas as pd


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Comparison of two runs on the same rows, as bert-report makes it.

    Attributes:
        names: the runs' names, from their directories.
        num_rows: number of compared rows.
        mcnemar: McNemar's exact test of right and wrong rows: only_first, only_second, p_value and
            is_different; None for numbers, which are neither right nor wrong.
        rows: the rows that only one run predicts right. The index has row numbers in the data, from
            0. The columns are text (missing in rows that the page does not show), label, and the
            predictions first and second. Tags have numbers of entities, and answers have their F1.
    """

    names: tuple[str, str]
    num_rows: int
    mcnemar: McNemar | None
    rows: "pd.DataFrame"
    _significance: Significance
    _page: Page

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with the metrics of both runs and their differences, a row per metric.

        The columns are first, second, difference (second minus first), low and high (the ends of its
        95% confidence interval, from bootstrap samples that both runs share), and is_different.
        """
        import pandas as pd

        metrics = self._significance.differences
        frame = pd.DataFrame(metrics, columns=Difference._fields).set_index("name").rename_axis("metric")
        frame.insert(2, "difference", frame["second"] - frame["first"])
        return frame.assign(is_different=[metric.is_different for metric in metrics])

    def page(self) -> Page:
        """Return the page of bert-report, which a notebook shows."""
        return self._page

    def __repr__(self) -> str:
        title = f"{type(self).__name__} of {' and '.join(self.names)} on {self.num_rows:,} rows"
        return "\n".join([title, *(f"  {line}" for line in self._significance.lines())])

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(float_format="{:.4f}".format, border=0)


def make_comparison(significance: Significance, page: Page, label_type: str | None) -> Comparison:
    """Return the result for a program.

    Args:
        significance: the tests and the rows that differ.
        page: the page of bert-report.
        label_type: the type of the labels, from api.inputs.label_types; None for texts.
    """
    import pandas as pd

    def convert(value: Any) -> Any:
        if isinstance(value, str):
            return read_label_values([value], label_type)[0]
        return read_label_values(value, label_type) if isinstance(value, list | tuple) else value

    rows = pd.DataFrame(
        [
            {"text": row.text or None}
            | {name: convert(value) for name, value in row.gold.items()}
            | dict(zip(("first", "second"), map(convert, row.decisions), strict=True))
            for row in significance.rows
        ],
        index=pd.Index([row.number for row in significance.rows], name="row", dtype="int64"),
        columns=["text", *significance.gold_columns, "first", "second"],
    )
    return Comparison(significance.names, significance.num_rows, significance.test, rows, significance, page)
