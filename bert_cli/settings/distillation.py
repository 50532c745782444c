"""Training a classifier on what another one says (Hinton et al., 2015)."""

import dataclasses
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.flags.option import option


@dataclasses.dataclass(frozen=True)
class Distillation:
    """Training"""

    distill_from: str = option(
        "", "folder of a trained classifier of the same labels, whose probabilities are learnt too", path=True
    )
    unlabeled_file: str = option(
        "",
        "with --distill_from: texts without labels to learn its probabilities on, a text a line or a table",
        path=True,
    )
    distill_temperature: float = option(
        2.0, "what the logits of both are divided by for --distill_from", lower=0.0, decides=True
    )
    distill_share: float = option(
        0.5,
        "share of --distill_from in the loss; the rest is that of the labels",
        lower=0.0,
        upper=1.0,
        decides=True,
    )


def check_distillation(values: dict[str, Any]) -> None:
    """InputError where the flags of Distillation do not go with each other or with the others."""
    defaults = Distillation()
    if values["distill_from"] and not values["do_train"]:
        raise InputError("--distill_from is about --do_train, which is missing")
    for name in ("unlabeled_file", "distill_temperature", "distill_share"):
        if values[name] != getattr(defaults, name) and not values["distill_from"]:
            raise InputError(f"--{name} is about --distill_from, which is missing")
    if not values["distill_temperature"] > 0:
        raise InputError(f"--distill_temperature={values['distill_temperature']}: a number above 0 is needed")
