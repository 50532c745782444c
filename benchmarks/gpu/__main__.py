"""Check a GPU: results, resuming, several GPUs, export, and speed, in at most ten minutes.

    make check-gpu
    DEVICE=cpu make check-gpu
    python -m benchmarks.gpu --device=gpu --model=HF_FOLDER --peer_python=OTHER_VENV/bin/python

Writes OUTPUT/check_gpu.json and OUTPUT/check_gpu.md, two tables for docs/performance-processors.md.
If a check fails, its row has the reason, and the exit code is 1. Programs that are not installed
are listed. --device=cpu runs the same checks on small sizes, without a GPU. Without --model the
benchmarks use random weights with the size of MiniLM (6 layers, width 384).
"""

import argparse
import dataclasses
import json
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

from benchmarks.gpu.checks import CHECKS, ROOT, Bench, CheckError, OutOfTimeError, find_devices
from benchmarks.gpu.random_model import write_random_model

PASSED, FAILED, NOT_RUN = "passed", "FAILED", "not run"
# Most important first: time may run out.
_WORKLOADS = {
    "gpu": ("base", "vectors-bfloat16", "short", "pretraining", "vectors-float32", "news"),
    "cpu": ("short", "vectors-float32"),
}
# Factor for the number of rows compared with a two-core processor, and the batch size.
_SIZES = {"gpu": ["--share=8", "--batch=128"], "cpu": ["--share=0.02", "--batch=32"]}


@dataclasses.dataclass(frozen=True)
class Row:
    """A row in the table of checks.

    Attributes:
        check: name.
        result: PASSED, FAILED or NOT_RUN.
        found: the finding, or the reason.
        seconds: duration.
    """

    check: str
    result: str
    found: str
    seconds: float


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu")
    parser.add_argument("--model", help="Hugging Face folder for the benchmarks (default: random weights)")
    parser.add_argument("--peer_python", default=sys.executable, help="the interpreter that has the other programs")
    parser.add_argument("--minutes", type=float, default=10, help="time limit of the whole")
    parser.add_argument("--output", default="bert_output/check_gpu", help="folder for check_gpu.json and check_gpu.md")
    return parser.parse_args(arguments)


def is_failure(row: Row) -> bool:
    """Return whether this row makes the exit code 1.

    An unchecked result does. A speed without time to measure it does not.
    """
    return row.result == FAILED or (row.result == NOT_RUN and row.check in CHECKS)


def run_check(name: str, check, bench: Bench) -> Row:
    """Run one check and return its row.

    Args:
        name: the check's name.
        check: function from CHECKS.
        bench: see Bench.
    """
    start = time.monotonic()
    try:
        result, finding = PASSED, check(bench)
    except CheckError as error:
        result, finding = FAILED, str(error)
    except OutOfTimeError:
        result, finding = NOT_RUN, "the time limit is reached"
    row = Row(name, result, finding, round(time.monotonic() - start, 1))
    print(f"{row.result}  {row.check} ({row.seconds} s): {row.found}", flush=True)
    return row


def measure(name: str, settings: argparse.Namespace, model: str, bench: Bench, results: dict) -> str:
    """Run one workload of `python -m benchmarks`, add its figures to `results`, return a finding.

    Args:
        name: workload name.
        settings: command-line arguments.
        model: a Hugging Face directory.
        bench: see Bench.
        results: receives the figures by workload.
    """
    path = bench.folder / f"{name}.json"
    bench.run(
        "-m", "benchmarks", f"--model={model}", f"--only={name}", "--rounds=1", f"--device={settings.device}",
        f"--peer_python={settings.peer_python}", f"--json={path}", *_SIZES[settings.device],
        *(["--precision=float32"] if bench.is_cpu else []),
    )  # fmt: skip
    kept = json.loads(path.read_text(encoding="utf-8"))
    results[name] = {"rows": kept["rows"][name], "rounds": kept["workloads"][name], "absent": kept["absent"][name]}
    absent = "".join(f"; {program} is left out: {reason}" for program, reason in kept["absent"][name].items())
    return f"measured{absent}"


def machine_facts(device: str, versions: dict) -> dict:
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return {
        "date": time.strftime("%Y-%m-%d"),
        "device": device,
        "commit": commit.stdout.strip(),
        "processor": platform.processor() or platform.machine(),
        **versions,
    }


def markdown(machine: dict, rows: list[Row], results: dict) -> str:
    """Return both tables for docs/performance-processors.md.

    Args:
        machine: see `machine_facts`.
        rows: one per check.
        results: figures by workload.
    """
    names = (
        ", ".join(sorted({f"{machine['gpus'].count(gpu)} × {gpu}" for gpu in machine["gpus"]}))
        or "the CPU, on small sizes"
    )
    lines = [
        f"`make check-gpu` on {names}, TensorFlow {machine['tensorflow']}, {machine['date']}, at {machine['commit']}:",
        "",
    ]
    lines += ["| check | result | found | s |", "|---|---|---|---|"]
    lines += [f"| {row.check} | {row.result} | {row.found.replace('|', '/')} | {row.seconds} |" for row in rows]
    lines += ["", "| workload | figure | ours | best of the others | which | × |", "|---|---|---|---|---|---|"]
    lines += [f"| {' | '.join(row[:6])} |" for result in results.values() for row in result["rows"]]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    settings = parse_arguments(arguments)
    is_cpu = settings.device == "cpu"
    rows: list[Row] = []
    results: dict = {}
    machine: dict = {"tensorflow": "", "gpus": []}
    with tempfile.TemporaryDirectory() as folder:
        # One epoch on data/ has 500 steps.
        bench = Bench(pathlib.Path(folder), is_cpu, time.monotonic() + 60 * settings.minutes, 0.06 if is_cpu else 0.2)

        def check_devices(bench: Bench) -> str:
            machine.update(find_devices(bench))
            bench.gpus = len(machine["gpus"])
            if not is_cpu and not bench.gpus:
                raise CheckError(
                    "TensorFlow sees no GPU: pip install -e '.[gpu]', check nvidia-smi, or give --device=cpu (DEVICE=cpu)"
                )
            return ", ".join(machine["gpus"]) or "the CPU, as asked for"

        rows.append(run_check("devices", check_devices, bench))
        if rows[0].result == PASSED:
            rows += [run_check(name, check, bench) for name, check in CHECKS.items()]
            model = settings.model or write_random_model(bench.folder / "model", small=is_cpu)
            for name in _WORKLOADS[settings.device]:
                measured = run_check(
                    f"speed, {name}", lambda bench, name=name: measure(name, settings, model, bench, results), bench
                )
                rows.append(measured)
    facts = machine_facts(settings.device, machine)
    output = pathlib.Path(settings.output)
    output.mkdir(parents=True, exist_ok=True)
    kept = {"machine": facts, "checks": [dataclasses.asdict(row) for row in rows], "workloads": results}
    (output / "check_gpu.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    text = markdown(facts, rows, results)
    (output / "check_gpu.md").write_text(text, encoding="utf-8")
    print(f"\n{text}\nwrote {output}/check_gpu.json and {output}/check_gpu.md")
    return int(any(map(is_failure, rows)))


if __name__ == "__main__":
    sys.exit(main())
