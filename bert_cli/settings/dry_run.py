"""Trying a training run out."""

import dataclasses
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.flags.option import option


@dataclasses.dataclass(frozen=True)
class DryRun:
    """What to do"""

    dry_run: bool = option(
        False,
        "with --do_train: read everything, say what is in it (lengths, unknown words, duplicates, leaks, conflicting labels), "
        "train a few steps in memory, say how much time and memory the run will take, and write nothing",
        passing=True,
    )


def check_dry_run(values: dict[str, Any]) -> None:
    """InputError where nothing is to be trained."""
    if values["dry_run"] and not values["do_train"]:
        raise InputError("--dry_run is about --do_train, which is missing")
