"""Predictions for many files by many processes: each input file is a shard, with an output of its
own.

The processes need nothing of each other: which shards are a process's own follows from its number,
each output appears whole, and one that is there is not made again. So any of them may be killed and
started again. What the outputs of one name have in common, their inputs and all that decides the
numbers, is in a file next to them; a process that would mix others among them is refused.
"""

import dataclasses
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import read_json_object
from bert_cli.base.log import LOG
from bert_cli.base.names import STANDARD, shard_name
from bert_cli.base.writing import write_json
from bert_cli.corpus.text import find_inputs
from bert_cli.flags.parser import shown
from bert_cli.runtime.cluster import is_multi_worker, read_cluster
from bert_cli.settings.devices import Devices
from bert_cli.weights.path import CheckpointPath

LISTING = ".shards.json"  # after the name of the outputs
_SHARD = r"-\d{5}-of-\d{5}"
_REMOVE = "remove it, and what was made with it"


class Shard(NamedTuple):
    """An input file, and the files that are made of it."""

    source: str
    targets: tuple[str, ...]


def check_shards(values: Mapping[str, Any], given: Collection[str], flags: Mapping[str, str]) -> bool:
    """Whether a flag names several input files. InputError for what does not go with that.

    flags: those that may, each with the flag that says where the outputs are.
    """
    patterns = [name for name in flags if files.is_pattern(values[name])]
    if not patterns:
        refuse_if(
            "shard" in given,
            f"--shard needs several files: give --{' or --'.join(flags)} a pattern in quotes, such as 'part-*.txt'",
        )
        return False
    source = patterns[0]
    target = flags[patterns[0]]
    refuse_if(
        values[target] == STANDARD,
        f"--{target}: give the name that the outputs begin with, as --{source} names several files",
    )
    for name in ("resume", "attentions"):
        refuse_if(values.get(name), f"--{name} takes one file, but --{source} names several; leave it out")
    return True


def alone(devices: Devices) -> Devices:
    """The devices of this process alone, without the other processes that TF_CONFIG names: no shard
    needs them.
    """
    if not is_multi_worker(devices.distribution_strategy):
        return devices
    return dataclasses.replace(devices, distribution_strategy="mirrored")


def _rank(shard: tuple[int, int] | None, distribution_strategy: str) -> tuple[int, int]:
    """The number of this process, from 0, and of how many."""
    if shard or not is_multi_worker(distribution_strategy):
        return shard or (0, 1)
    cluster = read_cluster()
    names = list(cluster.addresses)
    # An evaluator, a parameter server: TensorFlow's form allows these, and no shard is theirs.
    refuse_if(
        cluster.task not in names,
        f"the environment variable TF_CONFIG: {cluster.task} is none of the processes that compute",
    )
    return names.index(cluster.task), len(names)


@dataclasses.dataclass(frozen=True)
class ShardPlan:
    """The shards of all processes, and of this one. names: of the outputs, without the part that
    names the shard.
    """

    names: tuple[str, ...]
    inputs: tuple[str, ...]
    facts: dict[str, str]
    flag: str
    own: tuple[Shard, ...]
    checkpoint: CheckpointPath

    @staticmethod
    def make(
        pattern: str,
        flag: str,
        names: Sequence[str],
        target: str,
        facts: Mapping[str, Any],
        checkpoint: CheckpointPath,
        shard: tuple[int, int] | None,
        distribution_strategy: str,
    ) -> "ShardPlan":
        """pattern: the value of the flag `flag`; names: paths of the outputs that each shard has,
        the flag `target` says where; facts: all that decides them, by flag; None values are left
        out.

        InputError where a file cannot be read or written, or outputs of other inputs or facts are
        there.
        """
        inputs = find_inputs(pattern, flag)
        refuse_if(
            STANDARD in inputs,
            f"--{flag}={pattern}: standard input cannot be split into shards; give names of files",
        )
        number, processes = _rank(shard, distribution_strategy)
        count = len(inputs)
        shards = [Shard(path, tuple(shard_name(name, i, count) for name in names)) for i, path in enumerate(inputs)]
        taken = {files.real(path) for each in shards for path in each.targets}
        for path in inputs:
            refuse_if(
                files.real(path) in taken,
                f"{path}: would be written over, but it is read; check --{target}",
            )
        files.check_output_files([shard_name(name, 0, 0) for name in names], ())  # whether the folder can be written to
        # Every n-th one: large files that are neighbours in a listing go to different processes.
        own = shards[number::processes]
        texts = {n: shown(value) for n, value in facts.items() if value is not None}
        plan = ShardPlan(tuple(names), tuple(map(files.absolute, inputs)), texts, target, tuple(own), checkpoint)
        plan._check()
        LOG.info("this process handles %d of the %d files of --%s", len(own), count, flag)
        return plan

    @property
    def listing(self) -> str:
        """The path of the file that says what the outputs have in common."""
        return f"{self.names[0]}{LISTING}"

    def _check(self) -> bool:
        """Whether the listing is there and says the same. InputError where outputs of something
        else are there.
        """
        folder = os.path.dirname(self.listing) or "."
        known = read_json_object(self.listing, _REMOVE) if files.exists(self.listing) else None
        difference = None if known is None else self._difference(known)
        if difference == "":
            return True
        begin = "|".join(re.escape(os.path.basename(name)) for name in self.names)
        outputs = re.compile(f"({begin}){_SHARD}")
        found = next((name for name in files.list_directory(folder) if outputs.fullmatch(name)), None)
        if found is None:
            return False  # a run that came to nothing says nothing
        output = os.path.join(folder, found)
        listing = os.path.basename(self.listing)
        refuse_if(
            difference is None,
            f"{output}: is there without {listing}, which says what it is of; remove it, or use another --{self.flag}",
        )
        raise InputError(
            f"{self.listing}: the shards that are there were made with {difference}; give the "
            f"same, use another --{self.flag}, or remove them"
        )

    def _difference(self, known: dict[str, Any]) -> str:
        """What another listing says, and this plan; "" where it says the same."""
        inputs, flags = known.get("inputs"), known.get("flags")
        if inputs != list(self.inputs) or not isinstance(flags, dict):
            count = len(inputs) if isinstance(inputs, list) else 0
            return f"other input files ({count}, now {len(self.inputs)})"
        other = (name for name in sorted({*flags, *self.facts}) if flags.get(name) != self.facts.get(name))
        return next(
            (f"--{name}={flags.get(name, '')}, not {self.facts.get(name, '')}" for name in other),
            "",
        )

    def todo(self) -> list[Shard]:
        """The shards of this process that are not finished, which are logged in one line.

        A shard is finished where its outputs are there and none is older than its input or the
        model.
        """
        model = files.modified(self.checkpoint.file)
        written = [shard for shard in self.own if all(map(files.exists, shard.targets))]
        # The oldest of its outputs: a process that was killed between two of them left one of an
        # earlier run.
        done = {
            each
            for each in written
            if min(map(files.modified, each.targets)) >= max(model, files.modified(each.source))
        }
        if written:
            outdated = len(written) - len(done)
            again = f"; {outdated} others are older than their input or the model, and computed again" * bool(outdated)
            ends = ": nothing is left to do" if len(done) == len(self.own) else ""
            text = "%d of %d shards are finished already, and left as they are%s%s"
            LOG.info(text, len(done), len(self.own), again, ends)
        return [shard for shard in self.own if shard not in done]

    def each(self, shards: Sequence[Shard]) -> Iterator[Shard]:
        """The same shards, one by one, while nobody makes others of their names. InputError where
        somebody does.
        """
        for number, shard in enumerate(shards, 1):
            # Each time, not once: another process may have begun with other flags since the last
            # shard.
            if not self._check():
                write_json(self.listing, {"inputs": list(self.inputs), "flags": self.facts})
            LOG.info("shard %d of %d: %s", number, len(shards), shard.source)
            yield shard
