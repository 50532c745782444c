"""Problem type of a training file, inferred from its label cells."""

from bert_cli.base.errors import InputError
from bert_cli.base.formats import is_number
from bert_cli.problem_types.columns import LabelCells
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.missing_labels import may_be_missing
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.problem_type import ProblemType


def find_problem_type(cells: LabelCells) -> ProblemType:
    """Return the problem type that the label cells of a training file have.

    Raises:
        InputError: the labels are decimals, which may be numbers to predict or names of classes.
    """
    has_lists = any(isinstance(cell, tuple) for row in cells.rows for cell in row)
    # Columns of flags and lists leave no doubt; a cell such as "a,b" without them is one label.
    if has_lists or cells.separator or len(cells.columns) > 1:
        return MULTI_LABEL
    texts = [str(row[0]) for row in cells.rows]
    numbers = [(line, text) for line, text in zip(cells.lines, texts, strict=True) if is_number(text)]
    decimals = [(line, text) for line, text in numbers if "." in text]
    # Whole numbers are taken for names of classes; only a decimal point leaves it open.
    if decimals and all(is_number(text) or may_be_missing(text) for text in texts):
        line, text = decimals[0]
        raise InputError(
            f"{cells.path}:{line}: the label is the decimal {text}: give "
            "--problem_type=regression if it is a number to predict, --problem_type=single_label "
            "if it is the name of a class"
        )
    return SINGLE_LABEL
