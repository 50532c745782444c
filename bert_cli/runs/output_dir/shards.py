"""Predictions for many files by many processes: each input file is a shard, with an output of its
own.

The processes need nothing of each other: which shards are a process's own follows from its number,
each output appears whole, and one that is there is not made again. So any of them may be killed and
started again. What the outputs of one name have in common, their inputs and all that decides the
numbers, is in a file next to them; a process that would mix others among them is refused.
"""

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import expect_member, read_json_object
from bert_cli.base.log import LOG
from bert_cli.base.names import STANDARD, shard_name
from bert_cli.base.writing import write_json
from bert_cli.corpus.text import find_inputs
from bert_cli.flags.parser import format_value
from bert_cli.flags.saved import first_difference
from bert_cli.runtime.cluster import rank

LISTING = ".shards.json"  # after the name of the outputs
_NUMBERS = "-?????-of-?????"  # what names.shard_name adds, as a glob pattern
_REMOVE = "remove it, and what was made with it"


class Shard(NamedTuple):
    """An input file, and the files that are made of it."""

    source: str
    targets: tuple[str, ...]


class ShardPlan:
    """The shards of this process, and what the outputs of all processes have in common.

    own: the shards of this process; listing: the path of the file that says what the outputs have
    in common.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        flags: tuple[str, str],
        names: Sequence[str],
        facts: Mapping[str, Any],
        model: str,
    ) -> None:
        """values: of all flags; flags: names of the flags of the input files and of the outputs;
        names: paths of the outputs that each shard has, without the part that names the shard;
        facts: all that decides the outputs, by flag, None values are left out; model: the path of
        a file that is written with the weights.

        InputError where a file cannot be read or written, or outputs of other inputs or facts are
        there.
        """
        source, self._flag = flags
        inputs = find_inputs(values[source], source)
        refuse_if(
            STANDARD in inputs,
            f"--{source}={values[source]}: standard input cannot be split into shards; give names of files",
        )
        count = len(inputs)
        shards = [Shard(path, tuple(shard_name(name, i, count) for name in names)) for i, path in enumerate(inputs)]
        written = {files.resolve(path) for shard in shards for path in shard.targets}
        for path in inputs:
            refuse_if(
                files.resolve(path) in written,
                f"{path}: would be written over, but it is read; check --{self._flag}",
            )
        files.check_output_files([shard_name(name, 0, 0) for name in names], ())  # whether the folder can be written to
        number, processes = values["shard"] or rank(values["distribution_strategy"])
        # Every n-th one: large files that are neighbours in a listing go to different processes.
        self.own = shards[number::processes]
        self.listing = f"{names[0]}{LISTING}"
        self._outputs = [f"{glob.escape(name)}{_NUMBERS}" for name in names]
        self._inputs = [files.make_absolute(path) for path in inputs]
        self._facts = {name: format_value(value) for name, value in facts.items() if value is not None}
        self._model = model
        self._check()
        LOG.info("this process handles %d of the %d files of --%s", len(self.own), count, source)

    def _check(self) -> bool:
        """Whether the listing is there and says the same. InputError where outputs of something
        else are there.
        """
        known = read_json_object(self.listing, _REMOVE) if files.exists(self.listing) else None
        difference = known and self._difference(known)
        if difference == "":
            return True
        output = next((path for pattern in self._outputs for path in files.match(pattern)), None)
        if output is None:
            return False  # a run that came to nothing says nothing
        listing = os.path.basename(self.listing)
        refuse_if(
            difference is None,
            f"{output}: is there without {listing}, which says what it is of; remove it, or use another --{self._flag}",
        )
        raise InputError(
            f"{self.listing}: the shards that are there were made with {difference}; give the "
            f"same, use another --{self._flag}, or remove them"
        )

    def _difference(self, known: dict[str, Any]) -> str:
        """What another listing says, and this plan; "" where it says the same."""
        inputs = expect_member(known, "inputs", list, self.listing, _REMOVE)
        if inputs != self._inputs:
            return f"other input files ({len(inputs)}, now {len(self._inputs)})"
        return first_difference(expect_member(known, "flags", dict, self.listing, _REMOVE), self._facts)

    def todo(self) -> list[Shard]:
        """The shards of this process that are not finished, which are logged in one line.

        A shard is finished where its outputs are there and none is older than its input or the
        model.
        """
        model = files.mtime_ns(self._model)
        written = {shard for shard in self.own if all(map(files.exists, shard.targets))}
        # The oldest of its outputs: a process that was killed between two of them left one of an
        # earlier run.
        old = {
            each for each in written if min(map(files.mtime_ns, each.targets)) < max(model, files.mtime_ns(each.source))
        }
        left = [shard for shard in self.own if shard in old or shard not in written]
        if written:
            again = f"; {len(old)} others are older than their input or the model, and computed again" if old else ""
            ends = "" if left else ": nothing is left to do"
            text = "%d of %d shards are finished already, and left as they are%s%s"
            LOG.info(text, len(written) - len(old), len(self.own), again, ends)
        return left

    def each(self, shards: Sequence[Shard]) -> Iterator[Shard]:
        """The same shards, one by one, while nobody makes others of their names. InputError where
        somebody does.
        """
        for number, shard in enumerate(shards, 1):
            # Each time, not once: another process may have begun with other flags since the last
            # shard.
            if not self._check():
                write_json(self.listing, {"inputs": self._inputs, "flags": self._facts})
            LOG.info("shard %d of %d: %s", number, len(shards), shard.source)
            yield shard
