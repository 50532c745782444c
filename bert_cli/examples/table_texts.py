"""Reader for the texts in a table, without labels."""

from collections.abc import Sequence

from bert_cli.examples.text_lines import TextLine
from bert_cli.examples.user_tables import read_user_table
from bert_cli.reading.columns.facts import log_facts
from bert_cli.reading.columns.roles import ColumnRules
from bert_cli.reading.probe import open_table
from bert_cli.settings.data import Columns, TextForm, TrainedColumns


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
