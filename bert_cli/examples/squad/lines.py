"""Reader for lines of {"id", "question", "context"}, which are answered as they arrive."""

from collections.abc import Iterable, Iterator

from bert_cli.base.json_files import expect_member, parse_json
from bert_cli.examples.squad.reading import QuestionFile, check_new_id, find_unused, read_id
from bert_cli.examples.squad.records import SquadExample, split_context
from bert_cli.reading.columns.facts import DataFacts
from bert_cli.reading.rows import LeftOutRows

_LINE_LAYOUT = 'each line is {"id": "…", "question": "…", "context": "…"}'


def _parse_question(line: str, path: str, number: int) -> tuple[SquadExample, Iterable[str]]:
    """Parse a JSON line with {"id", "question", "context"}, and return also its members.

    The default id is the line number.

    Args:
        path: file, for messages.
        number: 1-based line number.
    """
    location = f"{path}:{number}"
    fields = parse_json(line, path, number, _LINE_LAYOUT)
    question = expect_member(fields, "question", str, location, _LINE_LAYOUT)
    context = expect_member(fields, "context", str, location, _LINE_LAYOUT)
    qas_id = read_id(fields.get("id"), f"{location}.id", _LINE_LAYOUT)
    return SquadExample(str(number) if qas_id is None else qas_id, question, split_context(context)), fields


class QuestionLines:
    """Questions in JSON lines, and an account of lines read so far."""

    def __init__(self, lines: Iterable[str], path: str):
        """Read these lines; `path` is their file in messages."""
        self._lines, self._path = lines, path
        self._members: dict[str, None] = {}
        self._blank: list[int] = []
        self._locations: dict[str, str] = {}

    def __iter__(self) -> Iterator[SquadExample]:
        """Yield the questions; raise InputError for an invalid line or a repeated id."""
        for number, line in enumerate(self._lines, start=1):
            if not line.strip():
                self._blank.append(number)
                continue
            example, members = _parse_question(line, self._path, number)
            check_new_id(example.qas_id, f"{self._path}:{number}", self._locations)
            self._members.update(dict.fromkeys(members))
            yield example

    @property
    def facts(self) -> DataFacts:
        """Return an account of all lines so far."""
        left_out = LeftOutRows.of_lines("blank lines", self._blank, is_requested=True)
        return QuestionFile(self._path, [], find_unused(self._members)).facts(len(self._locations), left_out)
