"""Which process of several machines this is, by the environment variable TF_CONFIG; no TensorFlow."""

import os
from typing import Any, NamedTuple

from bert_cli.base.errors import refuse_if
from bert_cli.base.json_files import expect, parse_json

_CHIEFS = ("chief", "master")  # the second is the name of TensorFlow 1
_PLACE = "the environment variable TF_CONFIG"
_FORM = 'it has to be as {"cluster": {"worker": ["HOST:PORT", …]}, "task": {"type": "worker", "index": 0}}'


class Cluster(NamedTuple):
    """computing: how many processes train together, 0 where TF_CONFIG names none. is_chief: whether
    this process writes: the chief, or where there is none the first worker. task: its name, such as
    `worker 1`. addresses: HOST:PORT of those that train, by their names.
    """

    computing: int
    is_chief: bool
    task: str
    addresses: dict[str, str]


def read_cluster() -> Cluster:
    """What TF_CONFIG says. InputError where it is not a JSON object of the form that TensorFlow
    documents.
    """
    values = expect(parse_json(os.environ.get("TF_CONFIG") or "{}", _PLACE, advice=_FORM), dict, _PLACE, _FORM)
    members, task = _part(values, "cluster"), _part(values, "task")
    addresses = {kind: _addresses(members, kind) for kind in (*_CHIEFS, "worker")}
    kind, index = task.get("type"), task.get("index", 0)
    if kind is not None:
        expect(kind, str, f"{_PLACE}.task.type", _FORM)
        # Schedulers write the index as text; TensorFlow takes both.
        index = int(index) if isinstance(index, str) and index.isdecimal() else index
        expect(index, int, f"{_PLACE}.task.index", _FORM)
    # TensorFlow's own rule: without a chief the first worker writes, and a process without
    # TF_CONFIG is alone.
    is_chief = kind in (None, *_CHIEFS) or (
        kind == "worker" and index == 0 and not any(addresses[chief] for chief in _CHIEFS)
    )
    named = {f"{kind} {index}": place for kind, listed in addresses.items() for index, place in enumerate(listed)}
    return Cluster(len(named), is_chief, f"{kind} {index}" if kind else "the only process", named)


def _part(values: dict[str, Any], name: str) -> dict[str, Any]:
    return expect(values.get(name, {}), dict, f"{_PLACE}.{name}", _FORM)


def _addresses(members: dict[str, Any], kind: str) -> list[str]:
    place = f"{_PLACE}.cluster.{kind}"
    return [expect(address, str, place, _FORM) for address in expect(members.get(kind, []), list, place, _FORM)]


def is_multi_worker(distribution_strategy: str) -> bool:
    """Whether this process is one of several that train together, but for a TPU's."""
    return distribution_strategy in ("auto", "multi_worker") and read_cluster().computing > 1


def writes(distribution_strategy: str) -> bool:
    """Whether this process writes the files, before TensorFlow is there to ask."""
    return distribution_strategy not in ("auto", "multi_worker") or read_cluster().is_chief


def rank(distribution_strategy: str) -> tuple[int, int]:
    """The number of this process, from 0, among those that train together, and how many these are."""
    if not is_multi_worker(distribution_strategy):
        return 0, 1
    cluster = read_cluster()
    names = list(cluster.addresses)
    # An evaluator, a parameter server: TensorFlow's form allows these, and they do not train.
    refuse_if(cluster.task not in names, f"{_PLACE}: {cluster.task} is none of the processes that compute")
    return names.index(cluster.task), len(names)
