"""Answers from logits: all files in the golden sets, and real questions."""

import json

import numpy as np
import pytest

from bert_cli.examples.squad.reading import read_squad_examples
from bert_cli.examples.squad.records import split_context
from bert_cli.examples.squad.source import QuestionSource
from bert_cli.examples.squad.training import read_training_examples
from bert_cli.features.squad import FIRST_UNIQUE_ID, squad_features
from bert_cli.outputs.answers.answer_text import sentence_span
from bert_cli.outputs.answers.squad import SpanDecoder
from bert_cli.outputs.squad import write_nbest_predictions, write_null_odds, write_predictions
from bert_cli.settings.answering import AnswerSearch
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import read_vocabulary


def golden_calls():
    kinds = ["random_nbest20_len30", "random_nbest8_len7"]
    calls = [(run, folder) for run in ("v1", "v1_cased") for folder in kinds]
    calls += [("v1", "ties_nbest20_len30"), ("v2", kinds[0]), ("v2", "random_nbest8_len7_threshold-3")]
    shipped = {"v1": ["random_nbest5_len20", "ties_nbest4_len7"], "v2": ["random_nbest10_len20", "random_nbest8_len7"]}
    shipped_calls = [("fixtures", run, folder) for run, folders in shipped.items() for folder in folders]
    return [("shared", *call) for call in calls] + shipped_calls


@pytest.mark.parametrize(("home", "run", "folder"), golden_calls())
def test_files_of_the_original(home, request, tmp_path, run, folder):
    root = request.getfixturevalue(home) / "golden/squad"
    flags = json.loads((root / run / "flags.json").read_text(encoding="utf-8"))
    (call,) = [call for call in flags["runs"] if call["folder"] == folder]
    tokenizer = FullTokenizer(read_vocabulary(str(root / flags["vocab"])), flags["do_lower_case"])
    examples = read_squad_examples(QuestionSource(str(root / flags["data"]))).examples
    lengths = (flags["max_seq_length"], flags["doc_stride"], flags["max_query_length"])
    features = squad_features(examples, tokenizer, *lengths, is_training=False)
    given_logits = np.load(root / run / call["logits"])
    version_2 = flags["version_2_with_negative"]
    threshold = call.get("null_score_diff_threshold", 0.0)
    search = AnswerSearch(call["n_best_size"], call["max_answer_length"], threshold)
    decoder = SpanDecoder(features, search, version_2)
    windows = given_logits["unique_ids"] - FIRST_UNIQUE_ID
    for rows in np.array_split(np.arange(len(windows))[::-1], 5):
        decoder.add(windows[rows], given_logits["start_logits"][rows], given_logits["end_logits"][rows])
    predictions = decoder.finish(examples, tokenizer)
    writers = {"predictions": write_predictions, "nbest_predictions": write_nbest_predictions}
    if version_2:
        writers["null_odds"] = write_null_odds
    for name, write in writers.items():
        write(str(tmp_path / "file.json"), predictions)
        assert (tmp_path / "file.json").read_bytes() == (root / run / folder / f"{name}.json").read_bytes()
    for example, prediction in zip(examples, predictions, strict=True):
        check_spans(example, prediction)


def check_spans(example, prediction):
    for entry in prediction.nbest:
        assert (entry.span is None) == (entry.text in ("", "empty"))
        if entry.span is not None:
            first, end = entry.span
            assert (
                split_context(example.paragraph.context[first:end]).doc_tokens == split_context(entry.text).doc_tokens
            )


def test_real_questions(shared):
    """Logits that point at a correct answer return it, word for word if it has whole word pieces."""
    tokenizer = FullTokenizer(read_vocabulary(str(shared / "data/vocab/bert-base-uncased-vocab.txt")))
    examples = read_training_examples(
        QuestionSource(str(shared / "data/squad/dev-v1.1.json")), multiple_answers="first"
    ).examples[:200]
    features = squad_features(examples, tokenizer, 384, 128, 64, is_training=True)
    start, end = np.zeros((2, len(features), 384), np.float32)
    rows = np.flatnonzero(features.start_positions)
    start[rows, features.start_positions[rows]] = end[rows, features.end_positions[rows]] = 9.0
    decoder = SpanDecoder(features, AnswerSearch(), False)
    decoder.add(np.arange(len(features)), start, end)
    predictions = decoder.finish(examples, tokenizer)
    same = sum(p.text == " ".join(e.answer_text.split()) for p, e in zip(predictions, examples, strict=True))
    assert same >= 190
    for example, prediction in zip(examples, predictions, strict=True):
        check_spans(example, prediction)
        first, last = sentence_span(example.paragraph.context, *prediction.span)
        assert first <= prediction.span[0] < prediction.span[1] <= last
