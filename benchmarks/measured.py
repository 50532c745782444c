"""Figures of benchmark rounds, and the table made from them."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

OURS = "bert_cli"
# A figure's name in the table, and whether more is better.
FIGURES = {
    "train": ("training, ex/s with the start", True),
    "steady": ("training, ex/s steady", True),
    "predict": ("prediction, ex/s", True),
    "lines": ("lines/s", True),
    "sequences": ("sequences/s", True),
    "seconds": ("the whole process, s", False),
    "first": ("first step, s", False),
    "one": ("one text, ms", False),
    "cold": ("first answer of a server, s", False),
    "capacity": ("8 clients, 10 texts of 50 tokens, requests/s", True),
    "goodput": ("4 times as many, answered requests/s", True),
    "goodput_share": ("4 times as many, share of the capacity", True),
    "overload_p99": ("4 times as many, p99 ms", False),
    "overload_refused": ("4 times as many, refused", False),
    "overload_late": ("4 times as many, late", False),
    "overload_failed": ("4 times as many, failed", False),
    **{
        name: title
        for length in ("12", "50")
        for name, title in {
            f"client_{length}": (f"one client, {length} tokens, p50 ms", False),
            f"client_p99_{length}": (f"one client, {length} tokens, p99 ms", False),
            f"inside_{length}": (f"the same text inside a process, {length} tokens, ms", False),
            f"clients_{length}": (f"64 clients, {length} tokens, texts/s", True),
            f"clients_p99_{length}": (f"64 clients, {length} tokens, p99 ms", False),
            f"file_{length}": (f"the same texts from a file, {length} tokens, texts/s", True),
            f"vectors_{length}": (f"64 clients, vectors of {length} tokens, texts/s", True),
        }.items()
    },
}
MEMORY, QUALITY = "mib", "accuracy"  # not compared as speed


@dataclasses.dataclass(frozen=True)
class Round:
    """Results from one round.

    Attributes:
        figures: value by program and figure.
        limits: see limits.product_rates.
    """

    figures: dict[str, dict[str, float]]
    limits: dict[str, float]


def median(rounds: Sequence[Round], program: str, figure: str) -> float:
    """Return a figure's median over the rounds."""
    return statistics.median(round_.figures[program][figure] for round_ in rounds)


def best_peer(rounds: Sequence[Round], figure: str) -> str | None:
    """Return the other program with the best median, or None if no other program has this figure."""
    sign = 1 if FIGURES[figure][1] else -1
    peers = [name for name, figures in rounds[0].figures.items() if name != OURS and figure in figures]
    return max(peers, key=lambda name: sign * median(rounds, name, figure), default=None)


def speed_up(rounds: Sequence[Round], peer: str, figure: str) -> float:
    """Return the median over the rounds of our speed divided by the peer's; above 1 is faster."""
    sign = 1 if FIGURES[figure][1] else -1
    return statistics.median((round_.figures[OURS][figure] / round_.figures[peer][figure]) ** sign for round_ in rounds)


def share_of_limit(rounds: Sequence[Round], figure: str, operations: float) -> float | None:
    """Return our rate divided by the best product rate in the same round, or None without a limit.

    Args:
        rounds: the results.
        figure: examples per second.
        operations: operations per example.
    """
    shares = [
        round_.figures[OURS][figure] * operations / max(round_.limits.values()) for round_ in rounds if round_.limits
    ]
    return statistics.median(shares) if shares else None


def _memory(rounds: Sequence[Round], program: str | None) -> str:
    """Return the memory in MiB, or "" without a program or a measurement."""
    is_measured = program and all(MEMORY in round_.figures[program] for round_ in rounds)
    return f"{median(rounds, program, MEMORY):.0f}" if program and is_measured else ""


def rows_of(workload: Any, rounds: Sequence[Round]) -> list[list[str]]:
    """Return a table row per figure of ours."""
    rows = []
    for figure in (name for name in FIGURES if name in rounds[0].figures[OURS]):
        peer = best_peer(rounds, figure)
        share = share_of_limit(rounds, figure, workload.operations[figure]) if figure in workload.operations else None
        memory = [_memory(rounds, name) for name in (OURS, peer)]
        rows.append(
            [
                workload.name,
                FIGURES[figure][0],
                f"{median(rounds, OURS, figure):.4g}",
                f"{median(rounds, peer, figure):.4g}" if peer else "",
                peer or "",
                f"{speed_up(rounds, peer, figure):.2f}" if peer else "",
                f"{share:.0%}" if share is not None else "",
                *memory,
            ]
        )
    return rows


def make_table(results: Mapping[str, tuple[Any, Sequence[Round]]]) -> Table:
    """Return the table for all workloads.

    Args:
        results: (workload, its rounds) by name.
    """
    rounds = max((len(workload_rounds) for _, workload_rounds in results.values()), default=0)
    table = Table(title=f"Medians of {rounds} rounds; × above 1: ours is that many times as fast")
    for name in ("workload", "figure", "ours", "best peer", "which", "×", "of the limit", "MiB, ours", "MiB, peer"):
        table.add_column(name, justify="left" if name in ("workload", "figure", "which") else "right")
    for workload, workload_rounds in results.values():
        for row in rows_of(workload, workload_rounds):
            table.add_row(*row)
    return table
