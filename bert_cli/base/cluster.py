"""Which process of several machines this is, by the environment variable TF_CONFIG; no TensorFlow."""

import json
import os
from typing import NamedTuple

from bert_cli.base.errors import InputError

_CHIEFS = ("chief", "master")  # the second is the name of TensorFlow 1


class Cluster(NamedTuple):
    """computing: how many processes train together, 0 where TF_CONFIG names none. is_chief: whether this is the one that
    writes: the chief, or where there is none the first worker. task: its name, such as `worker 1`.
    """

    computing: int
    is_chief: bool
    task: str


def read_cluster() -> Cluster:
    """What TF_CONFIG says. InputError where it is no JSON object of the form that TensorFlow documents."""
    text = os.environ.get("TF_CONFIG") or "{}"
    try:
        values = json.loads(text)
        members, task = values.get("cluster", {}), values.get("task", {})
        chiefs = [len(members[kind]) for kind in _CHIEFS if members.get(kind)]
        computing = sum(chiefs) + len(members.get("worker", []))
        kind, index = task.get("type"), int(task.get("index", 0))
    except (ValueError, RecursionError, AttributeError, TypeError):
        raise InputError(f"the environment variable TF_CONFIG is no JSON object: {text[:60]!r}") from None
    is_chief = kind in (None, *_CHIEFS) or (kind == "worker" and index == 0 and not chiefs)
    return Cluster(computing, is_chief, f"{kind} {index}" if kind else "the only process")


def writes(distribution_strategy: str) -> bool:
    """Whether this process is the one that writes files, before TensorFlow is there to ask."""
    return distribution_strategy not in ("auto", "multi_worker") or read_cluster().is_chief
