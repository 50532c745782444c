"""Trainings from Python: options for the trained model, and help."""

import json
import re

import pytest

from bert_cli import Classifier, QuestionAnswerer, Tagger
from bert_cli.api.training import options_for_predictions
from bert_cli.flags.option import build, every_flag
from bert_cli.model.config import ModuleConfig
from bert_cli.runs.training_plan import GOOGLE
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.squad import SquadSettings
from bert_cli.settings.tagging import TagSettings
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


@pytest.mark.parametrize(
    ("method", "settings_class"),
    [
        (Classifier.fit, ClassifySettings),
        (Classifier.train, ClassifySettings),
        (Tagger.train, TagSettings),
        (QuestionAnswerer.train, SquadSettings),
    ],
)
def test_help_has_the_defaults_of_common_options(method, settings_class):
    paragraph = method.__doc__.partition("            options: ")[2].partition("Returns:")[0]
    named = dict(re.findall(r"\b(\w+)=([\w.]+)\b", paragraph))
    assert len(named) >= 4
    defaults = build(settings_class, {})
    flags = {flag.name: getattr(getattr(defaults, flag.group), flag.field) for flag in every_flag(settings_class)}
    for name, text in named.items():
        default = getattr(flags[name], "share", flags[name])  # of dev_split
        assert text == str(default), name
    assert f"num_train_epochs ({GOOGLE.num_train_epochs}" in " ".join(paragraph.split())
