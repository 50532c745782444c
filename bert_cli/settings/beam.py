"""The flags of work that Apache Beam spreads over machines."""

import dataclasses
import shlex

from bert_cli.base.errors import InputError
from bert_cli.flags.option import option

RUNNERS = ("direct", "dataflow", "flink", "spark")


def read_options(text: str) -> tuple[str, ...]:
    """The words of --beam_options. InputError where a quote does not end, or --runner is among them."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(f"--beam_options={text}: {error}") from None
    if any(word.partition("=")[0] == "--runner" for word in words):
        raise InputError("--beam_options: give the runner as --runner itself")
    return words


@dataclasses.dataclass(frozen=True)
class Beam:
    """Apache Beam"""

    runner: str | None = option(
        None,
        "make the instances with Apache Beam (pip install 'bert_cli[beam]'): direct in this process, dataflow, flink or spark "
        "on many machines. For the same --random_seed and --num_shards the records are those of --num_workers",
        choices=RUNNERS,
    )
    beam_options: tuple[str, ...] = option(
        (),
        "Beam's own options, in quotes, such as '--project=P --region=R --temp_location=gs://B/tmp'",
        read=read_options,
        write=shlex.join,
    )
