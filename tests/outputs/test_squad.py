"""Files with answers."""

from bert_cli.outputs.answers.squad import NBestEntry, Prediction
from bert_cli.outputs.squad import write_nbest_predictions, write_null_odds, write_predictions


def test_files(tmp_path):
    entries = (NBestEntry("cat", 0.75, 1.5, 1.0, (4, 7)), NBestEntry("", 0.25, 0.5, 1.0, None))
    predictions = [Prediction("q", "cat", (4, 7), entries, -20.5, True)]
    paths = [tmp_path / name for name in ("predictions.json", "nbest_predictions.json", "null_odds.json")]
    for write, path in zip((write_predictions, write_nbest_predictions, write_null_odds), paths, strict=True):
        write(str(path), predictions)
    assert paths[0].read_bytes() == b'{\n    "q": "cat"\n}\n'
    first_entry = '{\n    "q": [\n        {\n            "text": "cat",\n            "probability": 0.75,\n'
    assert paths[1].read_text().startswith(first_entry)
    assert '"start_logit": 1.5,\n            "end_logit": 1.0\n        }' in paths[1].read_text()
    assert paths[2].read_bytes() == b'{\n    "q": -20.5\n}\n'
