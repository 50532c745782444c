"""Predictions for many files by many processes: each input file is a shard with separate outputs.

The processes do not communicate. A process's number decides its shards, outputs are written
atomically, and finished ones are not computed again. So any process may be killed and restarted. A
listing next to the outputs records the input files and the flags that decide the predictions. A
process with other input files or flags is refused.
"""

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import expect_member, read_json_object
from bert_cli.base.lines import find_inputs
from bert_cli.base.log import LOG
from bert_cli.base.names import STANDARD, shard_name
from bert_cli.base.writing import write_json
from bert_cli.flags.run_flags import first_difference
from bert_cli.flags.values import format_value
from bert_cli.runtime.cluster import rank

LISTING = ".shards.json"  # suffix of the output's name
_NUMBERS = "-?????-of-?????"  # glob pattern for the suffix that names.shard_name adds
_LISTING_ADVICE = "remove it, and what was made with it"


class Shard(NamedTuple):
    """An input file and its output files."""

    source: str
    targets: tuple[str, ...]


class ShardPlan:
    """The shards of this process, and the listing that all processes share.

    Attributes:
        shards: shards of this process.
        listing: the listing's path.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        flags: tuple[str, str],
        names: Sequence[str],
        facts: Mapping[str, Any],
        model: str,
    ) -> None:
        """Plan the shards, and check the input files, the outputs and the listing.

        Args:
            values: flag name -> value, for all flags.
            flags: names of the two flags for input files and output.
            names: a shard's output paths, without the suffix for the shard.
            facts: flag name -> value, for flags that decide the predictions. None is left out.
            model: path to a file that changes when the weights change.

        Raises:
            InputError: if a file cannot be read or written, or if there are outputs from other
                input files or flags.
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
        # This checks that the directory is writable.
        files.check_output_files([shard_name(name, 0, 0) for name in names], ())
        number, processes = values["shard"] or rank(values["distribution_strategy"])
        # Take every n-th file: large files that are neighbors then go to different processes.
        self.shards = shards[number::processes]
        self.listing = f"{names[0]}{LISTING}"
        self._outputs = [f"{glob.escape(name)}{_NUMBERS}" for name in names]
        self._inputs = [files.make_absolute(path) for path in inputs]
        self._facts = {name: format_value(value) for name, value in facts.items() if value is not None}
        self._model = model
        self._matches_listing()
        LOG.info("this process handles %d of the %d files of --%s", len(self.shards), count, source)

    def _matches_listing(self) -> bool:
        """Return whether the listing exists and matches this plan.

        Raises:
            InputError: if there are outputs from another plan.
        """
        listed = read_json_object(self.listing, _LISTING_ADVICE) if files.exists(self.listing) else None
        difference = listed and self._difference(listed)
        if difference == "":
            return True
        output = next((path for pattern in self._outputs for path in files.match(pattern)), None)
        if output is None:
            return False  # ignore a listing without outputs
        listing = os.path.basename(self.listing)
        refuse_if(
            difference is None,
            f"{output}: is there without {listing}, which says what it is of; remove it, or use another --{self._flag}",
        )
        raise InputError(
            f"{self.listing}: the shards that are there were made with {difference}; give the "
            f"same, use another --{self._flag}, or remove them"
        )

    def _difference(self, listed: dict[str, Any]) -> str:
        """Describe the first difference from a listing; return "" if it matches."""
        inputs = expect_member(listed, "inputs", list, self.listing, _LISTING_ADVICE)
        if inputs != self._inputs:
            return f"other input files ({len(inputs)}, now {len(self._inputs)})"
        return first_difference(expect_member(listed, "flags", dict, self.listing, _LISTING_ADVICE), self._facts)

    def find_unfinished(self) -> list[Shard]:
        """Return the unfinished shards of this process, and log how many are finished.

        A shard is finished if all its outputs exist and none is older than its input or the model.
        """
        model = files.mtime_ns(self._model)
        written = {shard for shard in self.shards if all(map(files.exists, shard.targets))}
        # Compare the oldest output: if a process was killed between writing two of them, one is
        # from an earlier run.
        stale = {
            shard
            for shard in written
            if min(map(files.mtime_ns, shard.targets)) < max(model, files.mtime_ns(shard.source))
        }
        unfinished = [shard for shard in self.shards if shard in stale or shard not in written]
        if written:
            stale_note = (
                f"; {len(stale)} others are older than their input or the model, and computed again" if stale else ""
            )
            end_note = "" if unfinished else ": nothing is left to do"
            text = "%d of %d shards are finished already, and left as they are%s%s"
            LOG.info(text, len(written) - len(stale), len(self.shards), stale_note, end_note)
        return unfinished

    def iterate(self, shards: Sequence[Shard]) -> Iterator[Shard]:
        """Yield the shards, and check before each that the listing still matches.

        Raises:
            InputError: if there are outputs from another plan.
        """
        for number, shard in enumerate(shards, 1):
            # Check again: another process may have started with other flags during the last shard.
            if not self._matches_listing():
                write_json(self.listing, {"inputs": self._inputs, "flags": self._facts})
            LOG.info("shard %d of %d: %s", number, len(shards), shard.source)
            yield shard
