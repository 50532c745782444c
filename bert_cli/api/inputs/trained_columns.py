"""Columns in the table that a model was trained on."""

from bert_cli.api.inputs.frames import TextColumns
from bert_cli.opening.bundle import AnyModel
from bert_cli.settings.data import read_columns


def trained_columns(model: AnyModel) -> TextColumns:
    """Return the text and label columns in a model's training data, if they had names."""
    columns = read_columns(model.saved_flags)
    if columns.text_column is None:
        columns = read_columns(model.guesses)
    # A number is a column in a file without a header.
    texts = (columns.text_column, columns.text_b_column)
    text, text_b = (None if name is None or name.isdecimal() else name for name in texts)
    return TextColumns(text, text_b, tuple(name for name in columns.label_columns if not name.isdecimal()))
