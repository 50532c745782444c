"""Files with answers, and examples of them."""

from bert_cli.examples.squad.records import SquadExample, split_context
from bert_cli.outputs.answers.squad import NBestEntry, SquadPrediction
from bert_cli.outputs.squad import squad_examples, write_nbest_predictions, write_null_odds, write_predictions


def test_files(tmp_path):
    entries = (NBestEntry("cat", 0.75, 1.5, 1.0, (4, 7)), NBestEntry("", 0.25, 0.5, 1.0, None))
    predictions = [SquadPrediction("q", "cat", (4, 7), entries, -20.5, True)]
    paths = [tmp_path / name for name in ("predictions.json", "nbest_predictions.json", "null_odds.json")]
    for write, path in zip((write_predictions, write_nbest_predictions, write_null_odds), paths, strict=True):
        write(str(path), predictions)
    assert paths[0].read_bytes() == b'{\n    "q": "cat"\n}\n'
    first_entry = '{\n    "q": [\n        {\n            "text": "cat",\n            "probability": 0.75,\n'
    assert paths[1].read_text().startswith(first_entry)
    assert '"start_logit": 1.5,\n            "end_logit": 1.0\n        }' in paths[1].read_text()
    assert paths[2].read_bytes() == b'{\n    "q": -20.5\n}\n'


def test_examples_have_scores_and_contexts():
    context = "x " * 3000 + "the cat sat"
    examples = [
        SquadExample(name, "Who?", split_context(text)) for name, text in (("a", "The cat sat"), ("b", context))
    ]
    best = NBestEntry("cat", 0.6, 1.0, 1.0, (4, 7))
    no_answer = NBestEntry("", 0.4, 0.0, 0.0, None)
    predictions = [
        SquadPrediction("a", "", None, (no_answer, best), 1.5, True),
        SquadPrediction("b", "the cat", (6000, 6007), (best,), None, True),
    ]
    kept = squad_examples(examples, predictions, {"a": ["cat"], "b": []})
    first, second = kept.rows
    assert (first["exact"], first["best_exact"], first["null_odds"]) == (0.0, 1.0, 1.5)
    assert (first["is_answerable"], first["is_answered"], first["answer"]) == (True, False, None)
    assert (second["is_answerable"], second["is_answered"], second["is_right"]) == (False, True, False)
    begin, end = second["answer"]
    assert second["context"][begin:end] == "the cat"
    assert second["is_cut"]
    assert len(second["context"]) == 2000
