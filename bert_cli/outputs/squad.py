"""Three JSON files with answers, in the format of Google's run_squad.py."""

import json
from collections.abc import Sequence

from bert_cli.base.writing import atomic_write
from bert_cli.outputs.answers.squad import NBestEntry, Prediction


def _write(path: str, value: dict) -> None:
    with atomic_write(path) as file:
        file.write(json.dumps(value, indent=4) + "\n")


def write_predictions(path: str, predictions: Sequence[Prediction]) -> None:
    """Write predictions.json, {id: text}, in prediction order."""
    _write(path, {prediction.qas_id: prediction.text for prediction in predictions})


def write_nbest_predictions(path: str, predictions: Sequence[Prediction]) -> None:
    """Write nbest_predictions.json, with entries best first.

    The layout is {id: [{"text", "probability", "start_logit", "end_logit"}]}.
    """
    names = NBestEntry._fields[:-1]  # without the span, which the original's file does not have
    entries = {
        prediction.qas_id: [dict(zip(names, entry, strict=False)) for entry in prediction.nbest]
        for prediction in predictions
    }
    _write(path, entries)


def write_null_odds(path: str, predictions: Sequence[Prediction]) -> None:
    """Write null_odds.json, {id: null odds}."""
    _write(path, {prediction.qas_id: prediction.null_odds for prediction in predictions})
