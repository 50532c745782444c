"""bert-extract-features beside another program that makes one vector for each line of a text file.

    python benchmarks/features.py --model DIR --input FILE --peer "python peer_vectors.py"

runs both one after the other, round by round, and prints the medians. DIR is a Hugging Face folder. The peer is called as
`PEER MODEL INPUT OUTPUT FLAGS`; it writes the mean vectors of all lines, scaled to length 1, to OUTPUT, a .npy file
[lines, width], and prints, as its last line, one JSON object with lines_s (lines per second, without the start). Run
nothing else on the machine meanwhile.
"""

import argparse
import json
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from rich.console import Console
from rich.table import Table

FIGURES = ("lines_s", "total")


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="Hugging Face folder of both")
    parser.add_argument("--input", required=True, help="a text a line")
    parser.add_argument("--peer", required=True, help='command of the peer, such as "python peer_vectors.py"')
    parser.add_argument("--peer_flags", action="append", help="a mode of the peer; may be repeated")
    parser.add_argument("--ours", default=f"{shlex.quote(sys.executable)} -m bert_cli.extract_features")
    parser.add_argument("--our_flags", default="", help="further flags for bert-extract-features")
    parser.add_argument("--precisions", default="float32", help="modes of ours, such as float32,bfloat16")
    parser.add_argument("--rounds", type=int, default=3)
    settings = parser.parse_args(arguments)
    if settings.rounds < 1:
        parser.error("--rounds must be at least 1")
    settings.peer_flags = settings.peer_flags or [""]
    return settings


def timed(command: list[str], mode: str) -> tuple[subprocess.CompletedProcess, float]:
    """The finished process and its wall-clock seconds, the start of its interpreter included; exits if it fails."""
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"error: {mode} ended with exit code {done.returncode}:\n{done.stderr[-2000:]}")
    return done, seconds


def run_peer(settings: argparse.Namespace, flags: str, mode: str, output: pathlib.Path) -> dict[str, float]:
    command = [*shlex.split(settings.peer), settings.model, settings.input, str(output), *shlex.split(flags)]
    done, seconds = timed(command, mode)
    lines = [line for line in done.stdout.split("\n") if line.startswith("{")]
    if not lines:
        sys.exit(f"error: {mode} printed no JSON line")
    return {"lines_s": json.loads(lines[-1])["lines_s"], "total": seconds}


def run_ours(settings: argparse.Namespace, precision: str, mode: str, output: pathlib.Path) -> dict[str, float]:
    flags = {"input_file": settings.input, "output_file": output, "init_checkpoint": settings.model}
    flags |= {"pooling": "mean", "output_format": "npy", "precision": precision}
    command = [*shlex.split(settings.ours), *(f"--{name}={value}" for name, value in flags.items()), "--normalize"]
    done, seconds = timed(command + shlex.split(settings.our_flags), mode)
    rate = re.search(r"^\d+ lines, ([\d.]+) a second$", done.stderr, re.MULTILINE)
    if not rate:
        sys.exit(f"error: {mode} told no rate:\n{done.stderr[-2000:]}")
    return {"lines_s": float(rate[1]), "total": seconds}


def measure(settings: argparse.Namespace, console: Console) -> dict[str, list[dict[str, float]]]:
    """{mode: one dict of figures per round}. Every other round runs backwards, so that a drift hits all modes alike."""
    runs = {f"peer {flags}".strip(): (run_peer, flags) for flags in settings.peer_flags}
    runs |= {f"bert-extract-features {name}": (run_ours, name) for name in settings.precisions.split(",")}
    results, reference = {mode: [] for mode in runs}, None
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "vectors.npy"
        for index in range(settings.rounds):
            for mode in reversed(runs) if index % 2 else runs:
                function, argument = runs[mode]
                figures = function(settings, argument, mode, output)
                vectors = np.load(output)
                reference = vectors if reference is None else reference
                if vectors.shape != reference.shape:
                    sys.exit(f"error: {mode} made {vectors.shape}, another {reference.shape}")
                figures["cosine"] = float((vectors * reference).sum(axis=1).min())
                results[mode].append(figures)
                shown = ", ".join(f"{name} {value:.4g}" for name, value in figures.items())
                console.print(f"round {index + 1} of {settings.rounds}, {mode}: {shown}", highlight=False)
    return results


def median(rounds: list[dict[str, float]], figure: str) -> float:
    return statistics.median(figures[figure] for figures in rounds)


def speed_up(ours: list[dict[str, float]], peers: list[list[dict[str, float]]], figure: str) -> float:
    """Median over rounds of how many times faster ours was than the best peer mode in that round."""
    sign = -1 if figure == "total" else 1
    best = max(peers, key=lambda rounds: sign * median(rounds, figure))
    return statistics.median((a[figure] / b[figure]) ** sign for a, b in zip(ours, best, strict=True))


def make_table(results: dict[str, list[dict[str, float]]]) -> Table:
    rounds = len(next(iter(results.values())))
    table = Table(title=f"Medians of {rounds} rounds; × is ours / best peer mode of the same round, above 1 is faster")
    table.add_column("mode")
    for name in ("lines/s", "total s", "least cosine", "lines/s ×", "total ×"):
        table.add_column(name, justify="right")
    peers = [figures for mode, figures in results.items() if mode.startswith("peer")]
    for mode, figures in results.items():
        row = [
            f"{median(figures, 'lines_s'):.1f}",
            f"{median(figures, 'total'):.1f}",
            f"{median(figures, 'cosine'):.6f}",
        ]
        if not mode.startswith("peer"):
            row += [f"{speed_up(figures, peers, figure):.2f}" for figure in FIGURES]
        table.add_row(mode, *row)
    return table


def main() -> None:
    settings = parse_arguments()
    table = make_table(measure(settings, Console(stderr=True)))
    Console(width=None if sys.stdout.isatty() else 130).print(table)


if __name__ == "__main__":
    main()
