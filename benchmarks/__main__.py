"""Speed of bert_cli and other programs in the same tasks, compared with the machine's limit.

    python -m benchmarks --model HF_FOLDER --rounds 3 --json bert_output/benchmarks.json
    python -m benchmarks --model HF_FOLDER --only short,vectors-bfloat16 --peer_python OTHER_VENV/bin/python

HF_FOLDER is a Hugging Face directory with config.json, model.safetensors, vocab.txt and
tokenizer.json, which all programs use. All inputs are generated. The programs take turns, in
reverse order in every other round, so that a drift of the machine affects all programs equally. The
table shows medians, and each ratio compares two runs in the same round. If OTHER_VENV does not have
a program, it is left out and listed. Run nothing else on the machine during this time.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import platform
import sys
import tempfile

from rich.console import Console

from benchmarks.limits import product_rates
from benchmarks.measured import OURS, Round, make_table, rows_of
from benchmarks.processes import ProgramError
from benchmarks.workloads import NAMES, Context, workloads


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True, help="Hugging Face folder")
    parser.add_argument("--only", default=",".join(NAMES), help="workloads with commas: " + ", ".join(NAMES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer_python", default=sys.executable, help="the interpreter that has the other programs")
    parser.add_argument(
        "--precision", default="bfloat16", help="of all programs, where the name of a workload says none"
    )
    parser.add_argument("--share", type=float, default=1.0, help="times the rows of each workload; below 1 for a trial")
    parser.add_argument("--batch", type=int, default=32, help="texts in a training step (base: half of it)")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="where all programs compute")
    parser.add_argument("--json", help="where all figures of all rounds are kept")
    settings = parser.parse_args(arguments)
    unknown = sorted(set(settings.only.split(",")) - set(NAMES))
    if unknown:
        parser.error(f"--only: {', '.join(unknown)} is none of {', '.join(NAMES)}")
    if settings.rounds < 1 or settings.batch < 2 or settings.share <= 0:
        parser.error("--rounds must be at least 1, --batch at least 2, and --share above 0")
    if not (pathlib.Path(settings.model) / "vocab.txt").exists():
        parser.error(f"--model={settings.model}: has no vocab.txt; give a Hugging Face folder")
    return settings


def main(arguments: list[str] | None = None) -> None:
    settings = parse_arguments(arguments)
    progress, results = Console(stderr=True, highlight=False, soft_wrap=True), {}
    if settings.device == "cpu":
        # bert_cli and sentence-transformers would use a GPU if there is one.
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    with tempfile.TemporaryDirectory() as folder:
        context = Context(
            settings.model, pathlib.Path(folder), settings.peer_python, settings.precision, settings.share,
            settings.batch, settings.device,
        )  # fmt: skip
        for workload in workloads(context, settings.only.split(",")):
            programs = workload.programs()
            for name, reason in workload.absent.items():
                progress.print(f"{workload.name}: {name} is left out: {reason}")
            rounds: list[Round] = []
            for number in range(settings.rounds):
                limits = product_rates(context.peer_python, workload.width, workload.precision, settings.device)
                figures = {}
                for name in list(reversed(programs) if number % 2 else programs):
                    try:
                        figures[name] = programs[name]()
                    except ProgramError as error:
                        if name == OURS:
                            sys.exit(f"error: {error}")
                        # Drop its earlier rounds, too: a ratio compares runs in the same round.
                        workload.absent[name] = str(error).strip().splitlines()[-1]
                        progress.print(f"{workload.name}: {name} is left out: {error}")
                        del programs[name]
                        continue
                    shown = ", ".join(f"{key} {value:.4g}" for key, value in figures[name].items())
                    progress.print(f"{workload.name}, round {number + 1} of {settings.rounds}, {name}: {shown}")
                rounds.append(Round(figures, limits))
            kept_figures = [{name: round_.figures[name] for name in programs} for round_ in rounds]
            kept_rounds = [Round(figures, round_.limits) for figures, round_ in zip(kept_figures, rounds, strict=True)]
            results[workload.name] = (workload, kept_rounds)
    Console(width=None if sys.stdout.isatty() else 140).print(make_table(results))
    if settings.json:
        kept = {
            "machine": {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()},
            "workloads": {
                name: [dataclasses.asdict(round_) for round_ in rounds] for name, (_, rounds) in results.items()
            },
            "rows": {name: rows_of(workload, rounds) for name, (workload, rounds) in results.items()},
            "absent": {name: workload.absent for name, (workload, _) in results.items()},
        }
        pathlib.Path(settings.json).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(settings.json).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
