"""Reader for the texts in a table: texts without labels, and pairs with negatives or scores."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import parse_number, quote
from bert_cli.examples.text_lines import TextLine
from bert_cli.examples.user_tables import join_text, make_cell_check, read_user_table
from bert_cli.reading.columns.facts import DataFacts, log_facts, table_facts
from bert_cli.reading.columns.find import SAMPLE
from bert_cli.reading.columns.pairs import ColumnsOfPairs, PairRules, find_pair_columns
from bert_cli.reading.columns.roles import ColumnRules
from bert_cli.reading.probe import TableFile, open_table
from bert_cli.reading.rows import LeftOutRows, Row, refuse_rows
from bert_cli.settings.data import NO_COLUMN, Columns, TextForm, TrainedColumns


def read_table_texts(
    path: str, columns: Columns, header: str, form: TextForm, takes_pairs: bool = True
) -> list[TextLine]:
    """Read the texts from the table in --input_file, with ids if it has an id column.

    Args:
        path: the table.
        columns, header: flag values, see ColumnRules.
        form: values of --encoding, --quoting and --sheet.
        takes_pairs: whether the command takes pairs of texts.
    """
    trained = TrainedColumns(num_texts=None if takes_pairs else 1)
    rules = ColumnRules(columns, header, needs_label=False, trained=trained)
    table = read_user_table(open_table(path, "input_file", form), "input", rules)
    log_facts(table.facts)
    ids = None if table.columns.identifier is None else [row.identifier for row in table.rows]
    return make_text_lines([(row.text_a, row.text_b) for row in table.rows], ids)


def make_text_lines(texts: Sequence[tuple[str, str | None]], ids: Sequence[str] | None) -> list[TextLine]:
    """Return the texts or pairs of a table as numbered lines, with ids if the table has them."""
    names: Sequence[str | None] = [None] * len(texts) if ids is None else ids
    rows = enumerate(zip(texts, names, strict=True))
    return [TextLine(number, text_a, text_b, identifier=name) for number, ((text_a, text_b), name) in rows]


class PairRow(NamedTuple):
    """Two texts that belong together.

    Attributes:
        line: 1-based number of its first line.
        text_a: the first text, such as a question.
        text_b: the second text, such as its answer.
        negatives: texts that do not belong to `text_a`.
        score: similarity of the two texts, None without scores.
    """

    line: int
    text_a: str
    text_b: str
    negatives: tuple[str, ...] = ()
    score: float | None = None


class PairTable(NamedTuple):
    """The pairs in a table.

    Attributes:
        path: the file, for messages.
        pairs: the pairs, at least one.
        facts: account of the file.
    """

    path: str
    pairs: list[PairRow]
    facts: DataFacts

    @property
    def has_scores(self) -> bool:
        return self.pairs[0].score is not None

    @property
    def has_negatives(self) -> bool:
        return any(pair.negatives for pair in self.pairs)

    @property
    def texts(self) -> list[str]:
        """Return the different first and second texts."""
        return list(dict.fromkeys(text for pair in self.pairs for text in (pair.text_a, pair.text_b)))


def read_pairs(table: TableFile, rules: PairRules) -> PairTable:
    """Read a table's pairs. A row without one of its two texts is left out.

    Raises:
        InputError: the table has no pair, a column is missing or ambiguous, or a score is no
            number.
    """
    path = table.path
    table = table.with_paths(rules.flag_columns)
    left_out: list[LeftOutRows] = []
    unread: dict[str, None] = {}
    stream = table.filled_rows(left_out=left_out, unread=unread)
    sample = list(itertools.islice(stream, SAMPLE))
    if not sample:
        raise InputError(f"{path}: is empty; rows of two texts are needed")
    columns = find_pair_columns(path, sample, table.has_names, rules)
    check_cells = make_cell_check(path, columns)
    pairs: list[PairRow] = []
    lines_without_text: list[int] = []
    wrong_scores: list[tuple[int, str]] = []
    for row in itertools.chain(sample if columns.names is None else sample[1:], stream):
        table.check_width(row, columns.width)
        check_cells(row)
        pair = _make_pair(row, columns)
        if not (pair.text_a and pair.text_b):
            lines_without_text.append(row.line)
        elif pair.score is not None and not math.isfinite(pair.score):
            wrong_scores.append((row.line, join_text(row.cell(columns.score))))
        else:
            pairs.append(pair)
    name = "" if columns.score is None else quote(columns.column_name(columns.score))
    refuse_rows(
        path,
        wrong_scores,
        lambda cell: (
            f"the score from {name} is {quote(cell) if cell.strip() else 'empty'}, a number such as 0.5 is needed"
        ),
        f"correct it, or name another column in --score_column ({NO_COLUMN} for no scores)",
    )
    if not pairs:
        raise InputError(f"{path}: has no row with two texts; check --text_column and --text_b_column")
    left_out += LeftOutRows.of_lines("rows without one of their two texts", lines_without_text)
    facts = table_facts(path, columns.names, columns.width, columns.roles, left_out).use(len(pairs))
    return PairTable(path, pairs, replace(facts, not_used=[*facts.not_used, *unread]))


def _make_pair(row: Row, columns: ColumnsOfPairs) -> PairRow:
    negatives: list[str] = []
    for column in columns.negatives:
        cell = row.cells[column]
        # A list has several negatives.
        negatives += [cell] if isinstance(cell, str) else cell
    score = None if columns.score is None else parse_number(join_text(row.cells[columns.score]))
    text_a, text_b = (join_text(row.cells[column]).strip() for column in (columns.text_a, columns.text_b))
    return PairRow(row.line, text_a, text_b, tuple(text.strip() for text in negatives if text.strip()), score)
