"""The texts of a table whose labels, if it has any, are of no interest."""

from bert_cli.examples.own_data import read_own_file
from bert_cli.examples.table_files.probe import open_table
from bert_cli.examples.text_lines import TextLine
from bert_cli.settings.data import NOT_TRAINED, Columns, TextForm, TrainedColumns


def read_table_texts(
    path: str, columns: Columns, header: str, form: TextForm, trained: TrainedColumns = NOT_TRAINED
) -> list[TextLine]:
    """Return the texts of the table of --input_file, with their ids if it has a column of ids.

    Args:
        path: the table.
        columns, header, trained: see `find_columns`.
        form: encoding, quoting and sheet, as the flags have them.
    """
    file = read_own_file(open_table(path, "input_file", form), "input", columns, header, False, trained=trained)
    has_ids = file.columns.identifier is not None
    return [
        TextLine(number, row.text_a, row.text_b, identifier=row.identifier if has_ids else None)
        for number, row in enumerate(file.rows)
    ]
