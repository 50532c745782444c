"""Answers to single questions: --question at the terminal, and --input_file with JSON lines."""

from collections.abc import Iterator

from bert_cli.base import files
from bert_cli.base.names import STANDARD
from bert_cli.examples.squad.lines import QuestionLines
from bert_cli.examples.squad.records import SquadExample, split_context
from bert_cli.features.packing import NOT_CUT, CutCounts, warn_cuts
from bert_cli.opening.checkpoints import model_to_use
from bert_cli.opening.trained import check_command
from bert_cli.predicting.opening import AnswererSettings, select_groups
from bert_cli.predicting.question_answerer import answer_record, open_answerer
from bert_cli.reading.columns.facts import log_facts
from bert_cli.reading.source import Source
from bert_cli.runs.tasks.interactive import ChunkReader, write_records
from bert_cli.runs.tasks.squad import SquadTask
from bert_cli.runtime.streams import print_text
from bert_cli.settings.squad import SquadSettings

_CHUNK = 256  # questions that are read and computed at a time
_MIN_SHOWN_PROBABILITY = 0.001  # lowest probability that the terminal shows


def warn_cut_questions(cuts: CutCounts, max_query_length: int, place: str = "") -> None:
    """Log a warning about questions that were cut.

    Args:
        cuts: number of questions and tokens that were cut.
        max_query_length: value of --max_query_length.
        place: file or flag with the questions, for the message.
    """
    warn_cuts(cuts, max_query_length, "questions", place, "a larger --max_query_length keeps them")


def format_answer(record: dict) -> list[str]:
    """Return lines for the terminal: the answer, its sentence, and the n-best list."""
    if record["answer"]:
        lines = [record["answer"], f"  in: {record['sentence']}", ""]
    elif record["nbest"]:
        lines = ["(no answer)", ""]
    else:
        return ["(no answer: nothing in the context can be one)"]
    shown = [entry for entry in record["nbest"] if entry["probability"] >= _MIN_SHOWN_PROBABILITY]
    return lines + [f"  {entry['probability']:.4f}  {entry['text'] or '(no answer)'}" for entry in shown]


def answer_questions(settings: SquadSettings) -> dict:
    """Answer --question or the questions of --input_file.

    Return the record for --question, or the number of answers.
    """
    question_flags = settings.questions
    source = settings.files.input_file
    target = settings.files.output_file
    checkpoint = model_to_use(settings.model, settings.hub, settings.phases.output_dir).find()
    task = SquadTask(settings)
    check_command(checkpoint, task.command)
    model = task.load(checkpoint)
    if question_flags.question:
        context = question_flags.context
        if question_flags.context_file:
            context = Source(question_flags.context_file, None, "context_file").text
        example = SquadExample("question", question_flags.question, split_context(context))
    elif source != STANDARD:
        files.check_readable(source, "input_file")
    # Check the inputs first, because errors about them are more likely.
    files.check_output_files([target], [source, question_flags.context_file])
    answerer = open_answerer(select_groups(AnswererSettings, settings), model)
    if question_flags.question:
        predictions, cuts = answerer.answer([example])
        warn_cut_questions(cuts, settings.task.max_query_length, "--question")
        record = answer_record(example, predictions[0])
        print_text("\n".join(format_answer(record)))
        return record

    chunk_cuts: list[CutCounts] = []

    def records(chunk: list[SquadExample]) -> Iterator[dict]:
        predictions, cuts = answerer.answer(chunk)
        chunk_cuts.append(cuts)
        return map(answer_record, chunk, predictions)

    reader = ChunkReader(source, settings.files.line_buffered, _CHUNK, skips_blank=True)
    opened = Source(source, None, "input_file", reader.pipe)
    name = opened.name
    empty = f'{name}: holds no question; each line is {{"id": "…", "question": "…", "context": "…"}}'
    questions = QuestionLines(opened.lines(allows_nul=True), name)
    count = write_records(iter(questions), target or STANDARD, records, reader, empty)
    log_facts(questions.facts)
    warn_cut_questions(sum(chunk_cuts, NOT_CUT), settings.task.max_query_length, name)
    return {"answers": count}
