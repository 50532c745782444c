"""Answers to single questions: --question at the terminal, and --input_file with JSON lines."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bert_cli.base import files
from bert_cli.base.lines import input_name, open_lines, read_text
from bert_cli.base.names import STANDARD
from bert_cli.examples.squad.reading import parse_questions
from bert_cli.examples.squad.records import SquadExample, split_context
from bert_cli.features.cuts import NOT_CUT, Cuts, warn_cuts
from bert_cli.outputs.answers.answer_text import sentence_span
from bert_cli.outputs.answers.squad import Prediction
from bert_cli.runs.loading.checkpoints import to_use
from bert_cli.runs.loading.commands import check_command
from bert_cli.runs.tasks import opening
from bert_cli.runs.tasks.interactive import ChunkReader, write_records
from bert_cli.runs.tasks.squad import SquadTask, answer_split, make_windows
from bert_cli.runs.tasks.squad_data import Split, SquadDataset
from bert_cli.runtime.streams import print_text
from bert_cli.settings.squad import SquadSettings
from bert_cli.text.tokenization import FullTokenizer

if TYPE_CHECKING:
    from bert_cli.inference.rows import Predictor

_CHUNK = 256  # questions that are read and computed at a time
_MIN_SHOWN_PROBABILITY = 0.001  # lowest probability that the terminal shows


def answer_questions(
    predictor: "Predictor", task: SquadTask, examples: list[SquadExample], tokenizer: FullTokenizer
) -> tuple[list[Prediction], Cuts]:
    """Return the answers to questions, and the number of tokens cut by --max_query_length.

    Args:
        predictor: the opened model.
        task: settings for windows and answers.
        examples: questions with contexts.
        tokenizer: the model's tokenizer.
    """
    features = make_windows(task.settings, examples, tokenizer)
    return answer_split(task.settings, predictor, Split(examples, features), tokenizer, None)[0], features.cuts


def warn_cut_questions(cuts: Cuts, max_query_length: int, place: str = "") -> None:
    """Log a warning about questions that were cut.

    Args:
        cuts: number of questions and tokens that were cut.
        max_query_length: value of --max_query_length.
        place: file or flag with the questions, for the message.
    """
    warn_cuts(cuts, max_query_length, "questions", place, "a larger --max_query_length keeps them")


def answer_record(example: SquadExample, prediction: Prediction) -> dict:
    """Return an answer as a record for JSON lines and the terminal.

    "answer" is "" if there is no answer. "start" and "end" are its characters in the context,
    without the end, and "sentence" is the sentence around it; these are null if there is no answer.
    "probability" is the answer's probability in the list "nbest".

    Args:
        example: question with context.
        prediction: answer to the question.
    """
    entries = prediction.nbest if prediction.found else [entry for entry in prediction.nbest if not entry.text]
    chosen_entry = next((entry for entry in entries if entry.span == prediction.span), None)
    start, end = prediction.span or (None, None)
    sentence = None
    if prediction.span:
        first, last = sentence_span(example.paragraph.context, *prediction.span)
        sentence = example.paragraph.context[first:last]
    record = {
        "id": prediction.qas_id,
        "question": example.question,
        "answer": prediction.text if prediction.span else "",
        "probability": chosen_entry.probability if chosen_entry else None,
        "start": start,
        "end": end,
        "sentence": sentence,
        "nbest": [
            {"text": entry.text, "probability": entry.probability, "start": start, "end": end}
            for entry in entries
            for start, end in [entry.span or (None, None)]
        ],
    }
    return record if prediction.null_odds is None else record | {"null_odds": prediction.null_odds}


def format_record(record: dict) -> list[str]:
    """Return lines for the terminal: the answer, its sentence, and the n-best list."""
    if record["answer"]:
        lines = [record["answer"], f"  in: {record['sentence']}", ""]
    elif record["nbest"]:
        lines = ["(no answer)", ""]
    else:
        return ["(no answer: nothing in the context can be one)"]
    shown = [entry for entry in record["nbest"] if entry["probability"] >= _MIN_SHOWN_PROBABILITY]
    return lines + [f"  {entry['probability']:.4f}  {entry['text'] or '(no answer)'}" for entry in shown]


def run(settings: SquadSettings) -> dict:
    """Answer --question or the questions of --input_file.

    Return the record for --question, or the number of answers.
    """
    question_flags = settings.questions
    source = settings.files.input_file
    target = settings.files.output_file
    checkpoint = to_use(settings.model, settings.hub, settings.phases.output_dir)
    task = SquadTask(settings)
    check_command(checkpoint, task.command)
    model = task.load(checkpoint)
    if question_flags.question:
        if question_flags.context_file:
            files.check_readable(question_flags.context_file, "context_file")
        context = read_text(question_flags.context_file) if question_flags.context_file else question_flags.context
        example = SquadExample("question", question_flags.question, split_context(context))
    elif source != STANDARD:
        files.check_readable(source, "input_file")
    # Check the inputs first, because errors about them are more likely.
    files.check_output_files([target], [source, question_flags.context_file])
    predictor = opening.open_for_new_texts(task, model, SquadDataset(settings, model.tokenizer), settings)
    if question_flags.question:
        predictions, cuts = answer_questions(predictor, task, [example], model.tokenizer)
        warn_cut_questions(cuts, settings.task.max_query_length, "--question")
        record = answer_record(example, predictions[0])
        print_text("\n".join(format_record(record)))
        return record

    chunk_cuts: list[Cuts] = []

    def records(chunk: list[SquadExample]) -> Iterator[dict]:
        predictions, cuts = answer_questions(predictor, task, chunk, model.tokenizer)
        chunk_cuts.append(cuts)
        return map(answer_record, chunk, predictions)

    name = input_name(source)
    empty = f'{name}: holds no question; each line is {{"id": "…", "question": "…", "context": "…"}}'
    reader = ChunkReader(source, settings.files.line_buffered, _CHUNK, skips_blank=True)
    with open_lines(source, pipe=reader.pipe) as lines:
        count = write_records(parse_questions(lines, name), target or STANDARD, records, reader, empty)
    warn_cut_questions(sum(chunk_cuts, NOT_CUT), settings.task.max_query_length, name)
    return {"answers": count}
