"""What every command that trains makes of its flags before they are put together, also from Python (api/loading.py)."""

from typing import Any

from bert_cli.settings.classification import check_distillation
from bert_cli.settings.devices import check_engine
from bert_cli.settings.groups import check_dry_run, check_hub


def complete(values: dict[str, Any]) -> dict[str, Any]:
    """The values of all flags by name, with those that follow from others. InputError for what does not go together."""
    check_dry_run(values)
    check_engine(values)
    if "distill_from" in values:
        check_distillation(values)
    if "hub_module" in values:
        check_hub(values)
    if "freeze_encoder" in values:
        # An encoder of a module that is not trained is a frozen one: one rule below, not two.
        values["freeze_encoder"] = values["freeze_encoder"] or not values.get("hub_trainable", True)
    return values
