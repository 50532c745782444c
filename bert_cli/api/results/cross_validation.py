"""Cross-validation results: metrics for each fold, and predictions for all rows."""

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bert_cli.api.inputs.label_types import read_label_values
from bert_cli.base.json_files import JsonObject, read_json_object
from bert_cli.base.names import GRID, GRID_TABLE, MANIFEST, OUT_OF_FOLD, REPORT, SEVERAL, SUSPECTS, split_names
from bert_cli.outputs.sweep import DEVIATION, MEAN, RunRow, format_runs_table
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.regression import REGRESSION

if TYPE_CHECKING:
    import pandas as pd

_LABELS = ("given", "predicted", "label")
_WHOLE_NUMBERS = ("fold", "place", "line")
_FOLD_OF_REPEAT = "fold_"  # start of the columns with the fold in each repeat
_NUMBERS = ("probability", "difference")
# Problem type -> function that reads a label's cell in out_of_fold.tsv.
_READERS: dict[str | None, Callable[[str], Any]] = {
    MULTI_LABEL.name: split_names,
    REGRESSION.name: float,
    None: lambda cell: tuple(cell.split(" ")),
}


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class CrossValidation:
    """Metrics of k models, each for the rows that its training did not use.

    This is no model: train on all rows, without cross_validation, to get one. With
    cross_validation_repeats=r, there are r·k models. A grid returns its best cell, unless
    inner_cross_validation nests it in the folds.

    Attributes:
        metrics: for each fold, a dict metric -> number; folds are sorted by repeat.
        mean: metric -> mean over the folds.
        std: metric -> standard deviation over the folds, with k − 1 in the denominator.
        metric: name of the main metric.
        out_of_fold: a row per text, in their order: fold, given label, prediction and
            probabilities, as in out_of_fold.tsv. Repeats have columns fold_1, fold_2 and so on, and
            their mean predicts. After `fit`, it has the index of the texts.
        suspects: the probably wrong labels, as in suspects.tsv, most suspicious first.
        report: the content of run_report.json.
        output_dir: the directory with a run per fold, such as fold-1; None if it was temporary.
        grid: a row per grid cell, as in grid.tsv; None without lists of values.
    """

    metrics: tuple[dict[str, float], ...]
    mean: dict[str, float]
    std: dict[str, float]
    metric: str
    out_of_fold: "pd.DataFrame"
    suspects: "pd.DataFrame"
    report: dict[str, Any]
    output_dir: str | None
    grid: "pd.DataFrame | None" = None

    def __len__(self) -> int:
        return len(self.metrics)

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with one row per fold, from 1, and one column per metric.

        With repeats, the index has the repeat and the fold.
        """
        return self._by_fold(self.metrics)

    @property
    def choices(self) -> "pd.DataFrame | None":
        """Return the flag values that inner folds chose, a row per outer fold; None without them."""
        members = self.report[SEVERAL]["members"]
        names = [name for name in members[0] if name not in ("folder", "eval", "random_seed")]
        return self._by_fold([{name: member[name] for name in names} for member in members]) if names else None

    def _by_fold(self, rows: Sequence[Mapping[str, float]]) -> "pd.DataFrame":
        import pandas as pd

        index: pd.Index = pd.RangeIndex(1, len(self) + 1, name="fold")
        if repeats := sum(name.startswith(_FOLD_OF_REPEAT) for name in self.out_of_fold):
            numbers = [range(1, repeats + 1), range(1, len(self) // repeats + 1)]
            index = pd.MultiIndex.from_product(numbers, names=["repeat", "fold"])
        return pd.DataFrame(list(rows), index=index)

    def with_index(self, index: "pd.Index") -> "CrossValidation":
        """Return the result with the index of the texts in place of ids, which end in row numbers."""

        def reindex(table: "pd.DataFrame") -> "pd.DataFrame":
            rows = [int(name.rpartition("-")[2]) for name in table["id"]]
            return table.drop(columns="id").set_axis(index[rows])

        return dataclasses.replace(self, out_of_fold=reindex(self.out_of_fold), suspects=reindex(self.suspects))

    def with_label_type(self, label_type: str | None) -> "CrossValidation":
        """Return the result with labels of a type from api.inputs.label_types; None for texts."""
        if label_type is None:
            return self

        def convert(cell: Any) -> Any:
            if isinstance(cell, float):  # a regression's number
                return cell
            return (
                read_label_values(cell, label_type)
                if isinstance(cell, tuple)
                else read_label_values([cell], label_type)[0]
            )

        out_of_fold, suspects = (
            table.assign(**{name: table[name].map(convert) for name in _LABELS if name in table})
            for table in (self.out_of_fold, self.suspects)
        )
        return dataclasses.replace(self, out_of_fold=out_of_fold, suspects=suspects)

    def __repr__(self) -> str:
        folders = [member["folder"].replace("-", " ") for member in self.report[SEVERAL]["members"]]
        rows = [RunRow(folder, {}, metrics, {}) for folder, metrics in zip(folders, self.metrics, strict=True)]
        lines = format_runs_table(rows, self.metric, None, has_mean=True)
        return "\n".join([f"{type(self).__name__} with {len(self)} folds", *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        import pandas as pd

        folds = self.to_frame()
        summary = pd.DataFrame([self.mean, self.std], index=[MEAN, DEVIATION], columns=folds.columns)
        table = pd.concat([folds.rename(index=str), summary])
        return table.to_html(float_format="{:.4f}".format, border=0, na_rep="")


def read_cross_validation(folder: str, report: JsonObject, output_dir: str | None) -> CrossValidation:
    """Return the result of a command's cross-validation.

    Args:
        folder: the directory that the command wrote.
        report: the content of its run_report.json.
        output_dir: the caller's directory, None if `folder` is temporary.
    """
    import pandas as pd

    summary: dict[str, Any] = report[SEVERAL]  # type: ignore[assignment]
    if summary["kind"] == GRID:
        grid = pd.read_csv(os.path.join(folder, GRID_TABLE), sep="\t")
        cell = os.path.join(folder, summary["best"])
        inner_dir = None if output_dir is None else os.path.join(output_dir, summary["best"])
        result = read_cross_validation(cell, read_json_object(os.path.join(cell, REPORT)), inner_dir)
        return dataclasses.replace(result, grid=grid)
    manifest = read_json_object(os.path.join(folder, summary["members"][0]["folder"], MANIFEST))
    problem_type: str | None = manifest.get("problem_type")  # None for tags
    out_of_fold, suspects = (_read_table(os.path.join(folder, name)) for name in (OUT_OF_FOLD, SUSPECTS))
    for name in ("given", "predicted"):
        if problem_type == REGRESSION.name:
            suspects[name] = suspects[name].astype(float)
        if read := _READERS.get(problem_type):
            out_of_fold[name] = out_of_fold[name].map(read)
    metrics = tuple(dict(member["eval"]) for member in summary["members"])
    mean, std = dict(summary[MEAN]), dict(summary[DEVIATION])
    return CrossValidation(metrics, mean, std, summary["metric"], out_of_fold, suspects, dict(report), output_dir)


def _read_table(path: str) -> "pd.DataFrame":
    import pandas as pd

    # Read everything as text, because a label or a text may look like a number or like NaN.
    table = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
    for name in table.columns:
        if name in _WHOLE_NUMBERS or name.startswith(_FOLD_OF_REPEAT):
            table[name] = table[name].astype(int)
        elif name in _NUMBERS or name.startswith("prob_"):
            table[name] = table[name].astype(float)
    return table
