"""Reader for the texts in a table, without labels."""

from bert_cli.examples.text_lines import TextLine
from bert_cli.examples.user_tables import read_user_table
from bert_cli.reading.probe import open_table
from bert_cli.settings.data import NOT_TRAINED, Columns, TextForm, TrainedColumns


def read_table_texts(
    path: str, columns: Columns, header: str, form: TextForm, trained: TrainedColumns = NOT_TRAINED
) -> list[TextLine]:
    """Read the texts from the table in --input_file, with ids if it has an id column.

    Args:
        path: the table.
        columns, header, trained: see `find_columns`.
        form: values of --encoding, --quoting and --sheet.
    """
    table = read_user_table(open_table(path, "input_file", form), "input", columns, header, False, trained=trained)
    has_ids = table.columns.identifier is not None
    return [
        TextLine(number, row.text_a, row.text_b, identifier=row.identifier if has_ids else None)
        for number, row in enumerate(table.rows)
    ]
