"""Questions that are asked one by one, for bert-squad: --question at the terminal, --input_file with JSON lines."""

import contextlib
import itertools
import json
import logging
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.lines import input_name, open_lines, read_text
from bert_cli.base.names import STANDARD
from bert_cli.base.writing import atomic_write
from bert_cli.examples.squad import SquadExample, parse_questions, split_context
from bert_cli.features.squad import squad_features
from bert_cli.outputs.answer_text import sentence_span
from bert_cli.outputs.squad import AnswerRules, Decoder, NBestEntry, Prediction
from bert_cli.runs.loading.trained import check_command
from bert_cli.runs.tasks import opening
from bert_cli.runs.tasks.squad import SquadDataset, SquadTask, fill, trained_model
from bert_cli.settings.squad import SquadSettings
from bert_cli.text.tokenization import FullTokenizer

if TYPE_CHECKING:
    from bert_cli.runs.engine.predictor import Predictor

LOG = logging.getLogger("bert_cli")
_CHUNK = 256  # questions that are read and computed at a time
_LEAST_SHOWN = 0.001  # the terminal shows no answer of less probability


class Windows(NamedTuple):
    """How texts are cut, all in tokens, and how many windows are computed at once, in those of full length."""

    max_seq_length: int
    doc_stride: int
    max_query_length: int
    batch_size: int

    @classmethod
    def of(cls, settings: SquadSettings) -> "Windows":
        return cls(
            settings.encoding.max_seq_length,
            settings.task.doc_stride,
            settings.task.max_query_length,
            settings.inference.predict_batch_size,
        )


def typed_example(question: str, context: str, context_file: str) -> SquadExample:
    """The question of --question, about the text of --context or --context_file."""
    if context_file:
        files.check_readable(context_file, "context_file")
        context = read_text(context_file)
    return SquadExample("question", question, split_context(context))


def answer(
    session: "Predictor",
    examples: Sequence[SquadExample],
    tokenizer: FullTokenizer,
    windows: Windows,
    rules: AnswerRules,
) -> list[Prediction]:
    """The answers to some questions in their order."""
    features = squad_features(
        examples, tokenizer, windows.max_seq_length, windows.doc_stride, windows.max_query_length, is_training=False
    )
    if features.num_cut_questions:
        LOG.warning("warning: %d question(s) were cut (--max_query_length)", features.num_cut_questions)
    decoder = Decoder(features, rules.n_best_size)
    fill(session, decoder, features, windows.batch_size)
    return decoder.finish(examples, tokenizer, rules)


def _entry(entry: NBestEntry) -> dict:
    start, end = entry.span or (None, None)
    return {"text": entry.text, "probability": entry.probability, "start": start, "end": end}


def answer_record(example: SquadExample, prediction: Prediction) -> dict:
    """What JSON lines and the terminal say of an answer.

    "answer" is "" for none; "start" and "end" are its characters in the context, (first, behind the last), and
    "sentence" is the part of the context around it, all null for none. "probability" is that among the "nbest".
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
        "nbest": [_entry(entry) for entry in entries],
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
    """Answer what --question or --input_file ask; returns the record of a --question, else the number of answers."""
    asked, source, target = settings.questions, settings.files.input_file, settings.files.output_file
    checkpoint = trained_model(settings.model.init_checkpoint, settings.phases.output_dir, settings.model.strict)
    task = SquadTask(settings)
    check_command(checkpoint, task.command)
    model = task.load(checkpoint)
    if asked.question:
        example = typed_example(asked.question, asked.context, asked.context_file)
    elif source != STANDARD:
        files.check_readable(source, "input_file")
    to_file = target not in ("", STANDARD)
    files.check_output_files([target], [source, asked.context_file])
    session = opening.open_trained(task, model, SquadDataset(settings, model.tokenizer, {}, {}, {}), settings)
    windows = Windows.of(settings)
    if asked.question:
        record = answer_record(example, answer(session, [example], model.tokenizer, windows, task.rules)[0])
        print("\n".join(format_record(record)), flush=True)
        return record
    count = 0
    with contextlib.ExitStack() as stack:
        lines = stack.enter_context(open_lines(source))
        out = stack.enter_context(atomic_write(target)) if to_file else sys.stdout
        questions = parse_questions(lines, input_name(source))
        while chunk := list(itertools.islice(questions, _CHUNK)):
            found = answer(session, chunk, model.tokenizer, windows, task.rules)
            for example, prediction in zip(chunk, found, strict=True):
                out.write(json.dumps(answer_record(example, prediction), ensure_ascii=False) + "\n")
            out.flush()
            count += len(chunk)
        if not count:
            name = input_name(source)
            raise InputError(f'{name}: holds no question; each line is {{"id": "…", "question": "…", "context": "…"}}')
    return {"answers": count}
