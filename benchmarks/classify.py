"""bert-classify beside another program that fine-tunes, evaluates and predicts on the same TSV files.

    python benchmarks/classify.py --model DIR --data DIR --peer "python peer_hf.py" --peer_flags=--dynamic

runs all of them one after the other, round by round, and prints the medians. DIR of --model is a Hugging Face folder,
DIR of --data holds train.tsv, dev.tsv and test.tsv as CoLA has them. The peer is called as
`PEER MODEL DATA --epochs E --batch B FLAGS` and prints, as its last line, one JSON object with train_ex_s, eval_ex_s,
predict_ex_s (examples per second) and mcc. Run nothing else on the machine meanwhile.
"""

import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

from rich.console import Console
from rich.table import Table

RATES = ("train", "eval", "predict")  # examples per second


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="Hugging Face folder that both start from")
    parser.add_argument("--data", required=True, help="folder with train.tsv, dev.tsv, test.tsv")
    parser.add_argument("--peer", required=True, help='command of the peer, such as "python peer_hf.py"')
    parser.add_argument(
        "--peer_flags", action="append", help='a mode of the peer, such as "--bf16 --dynamic"; may be repeated'
    )
    parser.add_argument("--ours", default=f"{shlex.quote(sys.executable)} -m bert_cli.run_classifier")
    parser.add_argument("--our_flags", default="", help="further flags for bert-classify")
    parser.add_argument("--precisions", default="float32", help="modes of bert-classify, such as float32,bfloat16")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=float, default=1.0)
    parser.add_argument("--batch", type=int, default=32, help="examples per training step")
    settings = parser.parse_args(arguments)
    if settings.rounds < 1:
        parser.error("--rounds must be at least 1")
    settings.peer_flags = settings.peer_flags or [""]
    return settings


def timed(command: list[str], mode: str) -> tuple[str, float]:
    """Standard output and wall-clock seconds of a command, the start of its interpreter included; exits if it fails."""
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"error: {mode} ended with exit code {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout, seconds


def run_peer(settings: argparse.Namespace, flags: str, mode: str) -> dict[str, float]:
    command = [*shlex.split(settings.peer), settings.model, settings.data, *shlex.split(flags)]
    command += ["--epochs", f"{settings.epochs:g}", "--batch", str(settings.batch)]
    output, seconds = timed(command, mode)
    lines = [line for line in output.split("\n") if line.startswith("{")]
    if not lines:
        sys.exit(f"error: {mode} printed no JSON line")
    report = json.loads(lines[-1])
    return {rate: report[f"{rate}_ex_s"] for rate in RATES} | {"mcc": report["mcc"], "total": seconds}


def run_ours(settings: argparse.Namespace, precision: str, mode: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as output_dir:
        flags = {
            "task_name": "cola",
            "data_dir": settings.data,
            "init_checkpoint": settings.model,
            "output_dir": output_dir,
            "num_train_epochs": f"{settings.epochs:g}",
            "train_batch_size": settings.batch,
            "precision": precision,
        }
        command = [*shlex.split(settings.ours), "--do_train", "--do_eval", "--do_predict", "--overwrite_output_dir"]
        command += [f"--{name}={value}" for name, value in flags.items()]
        _, seconds = timed(command + shlex.split(settings.our_flags), mode)
        report = json.loads((pathlib.Path(output_dir) / "run_report.json").read_text(encoding="utf-8"))
    rates = {rate: report[f"{rate}_examples_per_second"] for rate in RATES}
    return rates | {"mcc": report["eval"]["eval_mcc"], "total": seconds}


def measure(settings: argparse.Namespace, console: Console) -> dict[str, list[dict[str, float]]]:
    """{mode: one dict of figures per round}. Every other round runs backwards, so that a drift hits all modes alike."""
    runs = {f"peer {flags}".strip(): (run_peer, flags) for flags in settings.peer_flags}
    runs |= {f"bert-classify {name}": (run_ours, name) for name in settings.precisions.split(",")}
    results = {mode: [] for mode in runs}
    for index in range(settings.rounds):
        for mode in reversed(runs) if index % 2 else runs:
            function, argument = runs[mode]
            figures = function(settings, argument, mode)
            results[mode].append(figures)
            shown = ", ".join(f"{name} {value:.4g}" for name, value in figures.items())
            console.print(f"round {index + 1} of {settings.rounds}, {mode}: {shown}", highlight=False, soft_wrap=True)
    return results


def median(rounds: list[dict[str, float]], figure: str) -> float:
    return statistics.median(figures[figure] for figures in rounds)


def speed_up(ours: list[dict[str, float]], peers: list[list[dict[str, float]]], figure: str) -> float:
    """Median over rounds of ours / peer of that round, beside the peer mode that is best at this figure.

    Above 1 is faster: rates (examples per second) are divided as they are, total (seconds) upside down.
    """
    sign = -1 if figure == "total" else 1
    best = max(peers, key=lambda rounds: sign * median(rounds, figure))
    return statistics.median((a[figure] / b[figure]) ** sign for a, b in zip(ours, best, strict=True))


def make_table(results: dict[str, list[dict[str, float]]]) -> Table:
    rounds = len(next(iter(results.values())))
    table = Table(title=f"Medians of {rounds} rounds; × is ours / best peer mode of the same round, above 1 is faster")
    table.add_column("mode")
    for name in (
        "train ex/s",
        "eval ex/s",
        "predict ex/s",
        "MCC",
        "total s",
        "train ×",
        "eval ×",
        "predict ×",
        "total ×",
    ):
        table.add_column(name, justify="right")
    peers = [figures for mode, figures in results.items() if mode.startswith("peer")]
    for mode, figures in results.items():
        row = [f"{median(figures, rate):.1f}" for rate in RATES]
        row += [f"{median(figures, 'mcc'):.3f}", f"{median(figures, 'total'):.1f}"]
        if not mode.startswith("peer"):
            row += [f"{speed_up(figures, peers, figure):.2f}" for figure in (*RATES, "total")]
        table.add_row(mode, *row)
    return table


def main() -> None:
    settings = parse_arguments()
    table = make_table(measure(settings, Console(stderr=True)))
    Console(width=None if sys.stdout.isatty() else 130).print(table)


if __name__ == "__main__":
    main()
