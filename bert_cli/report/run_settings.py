"""Card with the settings that decided a run's result, non-default settings first."""

from typing import Any

from bert_cli.base.names import show_names
from bert_cli.flags.option import deciding_values
from bert_cli.problem_types.kinds import CLASSIFICATION, PRETRAINING, QUESTIONS, TAGGING, VECTORS
from bert_cli.report.components import Card, format_named_values, format_setting
from bert_cli.report.run_files import Run
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.pretraining import PretrainSettings
from bert_cli.settings.squad import SquadSettings
from bert_cli.settings.tagging import TagSettings
from bert_cli.settings.vectors import VectorTrainingSettings

# Keys of run.json that are not settings, or are shown elsewhere in the page.
_NO_SETTINGS = {"command", "config", "files", "init_checkpoint", "labels", "vocabulary", "training_data"}
SETTINGS: dict[str, type] = {
    CLASSIFICATION.command: ClassifySettings,
    TAGGING.command: TagSettings,
    QUESTIONS.command: SquadSettings,
    PRETRAINING.command: PretrainSettings,
    VECTORS.command: VectorTrainingSettings,
}
# Default values for keys that no flag sets.
_USUAL: dict[str, Any] = {"plan_from": 0}
_SHOWN_LABELS = 12


def settings_card(run: Run) -> Card:
    """Return settings that differ from the defaults or that the run chose; the rest is folded."""
    manifest = run.manifest
    settings_class = SETTINGS.get(run.command)
    # The run chooses a value for the default None, so the value is shown first.
    defaults = dict(_USUAL)
    for name, value in (deciding_values(settings_class()) if settings_class else {}).items():
        defaults[name] = list(value) if isinstance(value, tuple) else value  # the form in run.json
    values = {key: value for key, value in manifest.items() if key not in _NO_SETTINGS}
    is_default = {key: key in defaults and defaults[key] == value for key, value in values.items()}
    first = {"starts from": _start(manifest.get("init_checkpoint")), "labels": _labels(manifest.get("labels"))}
    first |= {key: format_setting(value) or "" for key, value in values.items() if not is_default[key]}
    folded = {key: format_setting(value) for key, value in values.items() if is_default[key]}
    content = {"first": format_named_values(first), "folded": format_named_values(folded)}
    return Card("card-settings", "Settings that decide the result", "settings", content)


def _labels(labels: Any) -> str:
    if not isinstance(labels, list):
        return ""
    more = f", … ({len(labels)})" if len(labels) > _SHOWN_LABELS else ""
    return show_names(map(str, labels[:_SHOWN_LABELS])) + more


def _start(checkpoint: Any) -> str:
    if isinstance(checkpoint, dict):
        # The manifest has several values for a checkpoint; the first text is the most informative.
        return next((value for value in checkpoint.values() if isinstance(value, str)), "a checkpoint")
    return str(checkpoint) if checkpoint else "random weights"
