"""A trained model is loaded with options that its training was given."""

import json

import pytest

from bert_cli.api.training import options_for_predictions
from bert_cli.model.config import ModuleConfig
from tests.opening.test_checkpoints import make_run


@pytest.mark.parametrize("needs_module", [True, False])
def test_options_that_no_file_holds(needs_module, tmp_path):
    """A run from a BERT module needs the module no more."""
    run = make_run(tmp_path / "run", 2)
    config = dict.fromkeys(ModuleConfig.__dataclass_fields__, 4) | {"hub_module": "words"} if needs_module else {}
    (run / "bert_config.json").write_text(json.dumps(config))
    options = {
        "engine": "tensorflow",
        "decoding": "viterbi",
        "precision": None,
        "learning_rate": 0.1,
        "hub_module": "m",
    }
    expected = {"engine": "tensorflow", "decoding": "viterbi"} | ({"hub_module": "m"} if needs_module else {})
    assert options_for_predictions(options, str(run)) == expected
