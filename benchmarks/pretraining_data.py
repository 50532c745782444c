"""Speed and memory of bert-create-pretraining-data, single stream and with worker processes.

    python benchmarks/pretraining_data.py --input_file corpus.txt --vocab_file vocab.txt --workers 0,1,2

prints one row per number of workers (0: Google's single stream): instances, instances per
wall-clock second, instances per second of processor time (all processes including their start: the
speed of one core), wall-clock seconds, and the peak memory of all processes together, in MB of 10^6
bytes (PSS counts shared pages once, RSS in each process). With --tenth, each is also run on the
first tenth of the lines, to see how memory grows. Linux only: it reads /proc.
"""

import argparse
import contextlib
import gzip
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time

from rich.console import Console
from rich.table import Table


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input_file", required=True, help="corpus, one sentence a line, plain or packed with gzip")
    parser.add_argument("--vocab_file", required=True)
    parser.add_argument("--workers", default="0,1,2", help="numbers of workers, with commas")
    parser.add_argument("--tenth", action="store_true", help="run on a tenth of the corpus, too")
    parser.add_argument("--dupe_factor", type=int, default=5)
    parser.add_argument("--max_seq_length", type=int, default=128)
    parser.add_argument("--flags", default="", help="further flags for the command")
    return parser.parse_args(arguments)


def process_tree(process_id: int) -> list[int]:
    """Return the ids of a process and its descendants that still exist."""
    process_ids = [process_id]
    for task in pathlib.Path(f"/proc/{process_id}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in task.read_text().split():
                process_ids += process_tree(int(child))
    return process_ids


def memory(process_id: int) -> tuple[int, int]:
    """Return PSS and RSS in bytes; zeros if the process has ended."""
    try:
        text = pathlib.Path(f"/proc/{process_id}/smaps_rollup").read_text()
    except OSError:
        return 0, 0
    return tuple(int(re.search(rf"^{name}: +(\d+) kB", text, re.MULTILINE)[1]) * 1024 for name in ("Pss", "Rss"))


class MemoryMeter(threading.Thread):
    """Thread that records peak PSS and RSS of a process and its descendants, ten times per second."""

    def __init__(self, process_id: int):
        super().__init__(daemon=True)
        self.process_id = process_id
        self.peak_pss = self.peak_rss = 0
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.wait(0.1):
            figures = [memory(process_id) for process_id in process_tree(self.process_id)]
            self.peak_pss = max(self.peak_pss, sum(pss for pss, _ in figures))
            self.peak_rss = max(self.peak_rss, sum(rss for _, rss in figures))

    def stop(self) -> None:
        self._done.set()
        self.join()


def processor_seconds() -> float:
    """Return user and system time used by all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(settings: argparse.Namespace, input_file: str, workers: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bert_cli.create_pretraining_data", f"--input_file={input_file}"]
        command += [f"--vocab_file={settings.vocab_file}", f"--output_file={folder}/data.tfrecord"]
        command += [f"--dupe_factor={settings.dupe_factor}", f"--max_seq_length={settings.max_seq_length}"]
        command += [f"--num_workers={workers}", *settings.flags.split()]
        processor_start, start_seconds = processor_seconds(), time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            meter = MemoryMeter(process.pid)
            meter.start()
            errors = process.stderr.read()
            process.wait()
            meter.stop()
        seconds, processor_start = time.perf_counter() - start_seconds, processor_seconds() - processor_start
        if process.returncode:
            sys.exit(f"error: {' '.join(command)} ended with exit code {process.returncode}:\n{errors[-2000:]}")
    return {
        "instances": int(re.search(r"Wrote (\d+) total instances", errors)[1]),
        "seconds": seconds,
        "processor": processor_start,
        "pss": meter.peak_pss,
        "rss": meter.peak_rss,
    }


def write_tenth(input_file: str, folder: str) -> str:
    """Write the first tenth of the lines as plain text, and return the path."""
    data = pathlib.Path(input_file).read_bytes()
    lines = (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).split(b"\n")
    path = pathlib.Path(folder) / "tenth.txt"
    path.write_bytes(b"\n".join(lines[: len(lines) // 10]))
    return str(path)


def main() -> None:
    settings = parse_arguments()
    table = Table()
    for name in ("text", "workers", "instances", "instances/s", "instances/s of a core", "seconds", "PSS MB", "RSS MB"):
        table.add_column(name, justify="right")
    with tempfile.TemporaryDirectory() as folder:
        texts = {"whole": settings.input_file}
        if settings.tenth:
            texts["tenth"] = write_tenth(settings.input_file, folder)
        for workers in map(int, settings.workers.split(",")):
            for name, path in texts.items():
                figures = measure(settings, path, workers)
                table.add_row(
                    name, str(workers), f"{figures['instances']:,}", f"{figures['instances'] / figures['seconds']:,.0f}",
                    f"{figures['instances'] / figures['processor']:,.0f}", f"{figures['seconds']:.1f}",
                    f"{figures['pss'] / 1e6:.0f}", f"{figures['rss'] / 1e6:.0f}",
                )  # fmt: skip
    Console(width=None if sys.stdout.isatty() else 130).print(table)


if __name__ == "__main__":
    main()
