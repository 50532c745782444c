"""Questions that are asked one by one, for bert-squad: --question at the terminal, --input_file
with JSON lines.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bert_cli.base import files
from bert_cli.base.lines import input_name, open_lines, read_text
from bert_cli.base.names import STANDARD
from bert_cli.examples.squad.reading import parse_questions
from bert_cli.examples.squad.records import SquadExample, split_context
from bert_cli.features.cuts import NOT_CUT, Cuts, warn_cuts
from bert_cli.outputs.answer_text import sentence_span
from bert_cli.outputs.squad import Prediction
from bert_cli.runs.loading.trained import check_command
from bert_cli.runs.tasks import opening
from bert_cli.runs.tasks.interactive import write_answers
from bert_cli.runs.tasks.squad import SquadTask, trained_model
from bert_cli.runs.tasks.squad_data import Split, SquadDataset
from bert_cli.runtime.streams import print_text
from bert_cli.settings.squad import SquadSettings
from bert_cli.text.tokenization import FullTokenizer

if TYPE_CHECKING:
    from bert_cli.runs.engine.predictor import Predictor

_CHUNK = 256  # questions that are read and computed at a time
_LEAST_SHOWN = 0.001  # the terminal shows no answer of less probability


def answer(
    session: "Predictor", task: SquadTask, examples: list[SquadExample], tokenizer: FullTokenizer
) -> tuple[list[Prediction], Cuts]:
    """Return the answers to some questions, and what the questions lost to --max_query_length."""
    features = task.windows(examples, tokenizer)
    return task.answers(session, Split(examples, features), tokenizer, None)[0], features.cuts


def warn_cut_questions(cuts: Cuts, max_query_length: int, place: str = "") -> None:
    """Log a warning if questions were cut. place: the file that they are from."""
    warn_cuts(cuts, max_query_length, "questions", place, "a larger --max_query_length keeps them")


def answer_record(example: SquadExample, prediction: Prediction) -> dict:
    """What JSON lines and the terminal say of an answer.

    "answer" is "" for none; "start" and "end" are its characters in the context, (first, after the
    last), and "sentence" is the part of the context around it, all null for none. "probability" is
    that among the "nbest".
    """
    entries = prediction.nbest if prediction.found else [entry for entry in prediction.nbest if not entry.text]
    chosen = next((entry for entry in entries if entry.span == prediction.span), None)
    start, end = prediction.span or (None, None)
    sentence = None
    if prediction.span:
        first, last = sentence_span(example.paragraph.context, *prediction.span)
        sentence = example.paragraph.context[first:last]
    record = {
        "id": prediction.qas_id,
        "question": example.question,
        "answer": prediction.text if prediction.span else "",
        "probability": chosen.probability if chosen else None,
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
    """Lines for the terminal: the answer, its sentence, and the answers with their probabilities."""
    if record["answer"]:
        lines = [record["answer"], f"  in: {record['sentence']}", ""]
    elif record["nbest"]:
        lines = ["(no answer)", ""]
    else:
        return ["(no answer: nothing in the context can be one)"]
    shown = [entry for entry in record["nbest"] if entry["probability"] >= _LEAST_SHOWN]
    return lines + [f"  {entry['probability']:.4f}  {entry['text'] or '(no answer)'}" for entry in shown]


def run(settings: SquadSettings) -> dict:
    """Answer --question or the questions of --input_file.

    Return the record of a --question, else the number of answers.
    """
    asked = settings.questions
    source = settings.files.input_file
    target = settings.files.output_file
    checkpoint = trained_model(settings.model.init_checkpoint, settings.phases.output_dir, settings.model.strict)
    task = SquadTask(settings)
    check_command(checkpoint, task.command)
    model = task.load(checkpoint)
    if asked.question:
        if asked.context_file:
            files.check_readable(asked.context_file, "context_file")
        context = read_text(asked.context_file) if asked.context_file else asked.context
        example = SquadExample("question", asked.question, split_context(context))
    elif source != STANDARD:
        files.check_readable(source, "input_file")
    # After the inputs are known to be there, so that the first error is about them.
    files.check_output_files([target], [source, asked.context_file])
    session = opening.open_for_answers(task, model, SquadDataset(settings, model.tokenizer), settings)
    if asked.question:
        predictions, cuts = answer(session, task, [example], model.tokenizer)
        warn_cut_questions(cuts, settings.task.max_query_length, "--question")
        record = answer_record(example, predictions[0])
        print_text("\n".join(format_record(record)))
        return record

    chunk_cuts: list[Cuts] = []

    def records(chunk: list[SquadExample]) -> Iterator[dict]:
        predictions, cuts = answer(session, task, chunk, model.tokenizer)
        chunk_cuts.append(cuts)
        return map(answer_record, chunk, predictions)

    name = input_name(source)
    empty = f'{name}: holds no question; each line is {{"id": "…", "question": "…", "context": "…"}}'
    with open_lines(source) as lines:
        count = write_answers(parse_questions(lines, name), target or STANDARD, records, _CHUNK, empty)
    warn_cut_questions(sum(chunk_cuts, NOT_CUT), settings.task.max_query_length, name)
    return {"answers": count}
