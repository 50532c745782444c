"""Which files of many a process takes."""

import dataclasses

from bert_cli.base.errors import InputError
from bert_cli.flags.option import option

ALL = "all"


def read_shard(text: str) -> tuple[int, int] | None:
    """(i, n) of i/n, None for ALL. InputError for another text."""
    if text == ALL:
        return None
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and int(number) < int(count)):
        raise InputError(f"--shard={text}: i/n is needed, with i from 0 to n - 1 such as 0/4, or {ALL}")
    return int(number), int(count)


@dataclasses.dataclass(frozen=True)
class Shards:
    """Files"""

    shard: tuple[int, int] | None = option(
        None,
        "which of several input files, sorted by name, this process takes: i/n those at i, i + n, i + 2n and so on, from 0; "
        f"{ALL}, the default: all of them, or where TF_CONFIG names several processes its own share. What is finished is not "
        "computed again",
        read=read_shard,
        passing=True,
        usual=(ALL,),
    )
