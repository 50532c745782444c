"""Source of questions: a file of any format, or questions in memory."""

from typing import NamedTuple

from bert_cli.base.recoding import UTF_8
from bert_cli.reading.formats import JSON, find_format, is_table
from bert_cli.reading.probe import TableFile, open_table
from bert_cli.reading.records import JsonDocument, JsonRecord, make_document, read_document
from bert_cli.reading.source import Source
from bert_cli.settings.data import PLAIN, TextForm


class QuestionSource(NamedTuple):
    """A file with questions, or questions in memory.

    Attributes:
        path: the file, or a name for questions in memory.
        form: values of --encoding, --quoting and --sheet.
        contents: questions in memory, as a table or as the value of a JSON file; None for a file.
    """

    path: str
    form: TextForm = PLAIN
    contents: TableFile | list | dict | None = None

    def table(self) -> TableFile | None:
        """Return the questions as a table, None for JSON."""
        if isinstance(self.contents, TableFile):
            return self.contents
        is_file = self.contents is None and is_table(self.path) and find_format(self.path) != JSON
        return open_table(self.path, "train_file", self.form) if is_file else None

    def document(self) -> JsonDocument:
        """Return the questions as JSON values with their lines."""
        if self.contents is not None:
            return make_document(self.path, "", [JsonRecord(1, self.contents)])
        encoding = None if self.form.encoding == UTF_8 else self.form.encoding
        return read_document(self.path, Source(self.path, encoding).text)
