"""Questions that are asked one by one, for bert-squad: --question at the terminal, --input_file with JSON lines."""

import contextlib
import itertools
import json
import logging
import sys
from collections.abc import Sequence

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.examples.squad import SquadExample, parse_questions, split_context
from bert_cli.features.squad import squad_features
from bert_cli.outputs.answer_text import sentence_span
from bert_cli.outputs.squad import AnswerRules, Decoder, NBestEntry, Prediction
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.training.host import prepare_host

LOG = logging.getLogger("bert_cli")
_CHUNK = 256  # questions that are read and computed at a time
_LEAST_SHOWN = 0.001  # the terminal shows no answer of less probability


def typed_example(question: str, context: str | None, context_file: str | None) -> SquadExample:
    """The question of --question, about the text of --context or --context_file."""
    if context_file:
        files.check_readable(context_file, "context_file")
        context = files.read_text(context_file)
    return SquadExample("question", question, split_context(context))


def answer(
    session, settings, examples: Sequence[SquadExample], tokenizer: FullTokenizer, rules: AnswerRules
) -> list[Prediction]:
    """The answers to some questions in their order."""
    lengths = (getattr(settings, name) for name in ("max_seq_length", "doc_stride", "max_query_length"))
    features = squad_features(examples, tokenizer, *lengths, is_training=False)
    if features.num_cut_questions:
        LOG.warning("warning: %d question(s) were cut (--max_query_length)", features.num_cut_questions)
    decoder = Decoder(features, rules.n_best_size)
    for rows, logits in session.over(features, settings.predict_batch_size, None, flag="predict_batch_size"):
        decoder.add(rows, logits["start"], logits["end"])
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
        first, last = sentence_span(example.context, start, end)
        sentence = example.context[first:last]
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


def run(settings, config, tokenizer: FullTokenizer, checkpoint, rules: AnswerRules) -> dict:
    """Answer what --question or --input_file ask; returns the record of a --question, else the number of answers."""
    if settings.question:
        example = typed_example(settings.question, settings.context, settings.context_file)
    elif settings.input_file != files.STANDARD:
        files.check_readable(settings.input_file, "input_file")
    to_file = settings.output_file not in (None, files.STANDARD)
    if to_file:
        files.check_can_write(settings.output_file.rpartition("/")[0] or ".", "output_file")

    prepare_host()
    from bert_cli.heads.squad import BertSpanModel
    from bert_cli.runs.session import Session

    session = Session(lambda precision: BertSpanModel(config, precision), settings, settings.max_seq_length)
    session.load_trained(checkpoint)
    if settings.question:
        record = answer_record(example, answer(session, settings, [example], tokenizer, rules)[0])
        print("\n".join(format_record(record)), flush=True)
        return record
    count = 0
    with contextlib.ExitStack() as stack:
        lines = stack.enter_context(files.open_lines(settings.input_file))
        target = stack.enter_context(files.atomic_write(settings.output_file)) if to_file else sys.stdout
        questions = parse_questions(lines, files.input_name(settings.input_file))
        while chunk := list(itertools.islice(questions, _CHUNK)):
            for example, prediction in zip(chunk, answer(session, settings, chunk, tokenizer, rules), strict=True):
                target.write(json.dumps(answer_record(example, prediction), ensure_ascii=False) + "\n")
            target.flush()
            count += len(chunk)
        if not count:
            name = files.input_name(settings.input_file)
            raise InputError(f'{name}: holds no question; each line is {{"id": "…", "question": "…", "context": "…"}}')
    return {"answers": count}
