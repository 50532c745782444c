"""Processor time and memory of the commands as their input grows.

    python -m benchmarks.growth --rows=1000,10000,100000 --only=reading,predict_file
    python -m benchmarks.growth --only=peer_reading,peer_predict_file --peer_python=OTHER_VENV/bin/python

For each workload and number of rows, a command runs as a process of its own. The table has seconds,
processor seconds (user and system, all threads), peak memory, and the growth against the row above:
microseconds of processor time and bytes of memory per added row. Time is linear if the former stays
the same, and memory is flat if the latter goes to 0. Processor time depends less than wall time on
what else the machine does. Two workloads are datasets and Trainer.predict on the files of reading and
predict_file; OTHER_VENV needs transformers and datasets.
"""

import argparse
import contextlib
import dataclasses
import json
import pathlib
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import inputs
from benchmarks.processes import Finished, run
from bert_cli.runtime.machine import has_fast_bfloat16

_BUILTIN = pathlib.Path("bert_cli/builtin/pretrained")
_VOCABULARY = _BUILTIN / "vocab.txt"
_CHUNK = 10_000  # texts that are in memory at a time
_PEER = pathlib.Path(__file__).parent / "peers" / "trainer_predict.py"


def write_rows(path: pathlib.Path, count: int, form: str) -> None:
    """Write a file with `count` texts of CoLA's lengths.

    Args:
        path: file to write.
        count: number of texts.
        form: "labeled" for CSV with a label, "texts" for CSV without one, "lines" for plain lines, or
            "corpus" for lines with an empty line after every tenth.
    """
    words = inputs.whole_words(_VOCABULARY)
    with path.open("w", encoding="utf-8") as file:
        file.write({"labeled": "id,text,label\n", "texts": "id,text\n"}.get(form, ""))
        for start in range(0, count, _CHUNK):
            size = min(_CHUNK, count - start)
            labels = np.random.default_rng([start, 1]).integers(0, 2, size)
            lengths = inputs.token_counts("short", size, start)
            for number, text in enumerate(inputs.texts(words, lengths, labels, start)):
                row = start + number
                file.write(
                    {
                        "labeled": f"{row},{text},{['no', 'yes'][labels[number]]}\n",
                        "texts": f"{row},{text}\n",
                        "lines": f"{text}\n",
                        "corpus": f"{text}\n" + "\n" * (row % 10 == 9),
                    }[form]
                )


@dataclasses.dataclass(frozen=True)
class Job:
    """One run of a command.

    Attributes:
        rows: number of rows in the file.
        file: its input.
        trained: directory of a trained classifier.
        folder: empty directory for its output.
    """

    rows: int
    file: pathlib.Path
    trained: pathlib.Path
    folder: pathlib.Path


# Name -> form of the file (see write_rows), and the module with its flags.
WORKLOADS: Mapping[str, tuple[str, Callable[[Job], list[str]]]] = {
    "reading": ("labeled", lambda job: [
        "run_classifier", f"--train_file={job.file}", "--do_train", "--dry_run", f"--output_dir={job.folder}/run"]),
    "training": ("labeled", lambda job: [
        "run_classifier", f"--train_file={job.file}", "--do_train", f"--num_train_epochs={320 / job.rows}", "--noreport",
        f"--output_dir={job.folder}/run"]),
    "predict_file": ("texts", lambda job: [
        "run_classifier", f"--predict_file={job.file}", "--do_predict", f"--output_dir={job.trained}"]),
    "input_file": ("lines", lambda job: [
        "run_classifier", f"--input_file={job.file}", f"--output_dir={job.trained}"]),
    "vectors": ("lines", lambda job: [
        "extract_features", f"--input_file={job.file}", f"--init_checkpoint={_BUILTIN}", "--pooling=mean",
        "--output_format=npy", f"--output_file={job.folder}/vectors.npy"]),
    "pretraining_data": ("corpus", lambda job: [
        "create_pretraining_data", f"--input_file={job.file}", f"--vocab_file={_VOCABULARY}", "--dupe_factor=1",
        f"--output_file={job.folder}/instances.tfrecord"]),
    "vocabulary": ("corpus", lambda job: [
        "build_vocab", f"--input_file={job.file}", "--vocab_size=3000", f"--output_file={job.folder}/vocab.txt"]),
    "prepare": ("labeled", lambda job: ["prepare_data", str(job.file), f"{job.folder}/tables"]),
}  # fmt: skip


# The same files with another program; see trainer_predict.py.
PEERS: Mapping[str, tuple[str, Callable[[Job], list[str]]]] = {
    "peer_reading": ("labeled", lambda job: []),
    "peer_predict_file": ("texts", lambda job: [
        f"--output={job.folder}/labels.csv", *(["--bf16"] if has_fast_bfloat16() else [])]),
}  # fmt: skip


def run_peer(python: str, model: pathlib.Path, file: pathlib.Path, flags: Sequence[str]) -> Finished:
    """Run trainer_predict.py with the interpreter `python`, and return its figures."""
    return run([python, str(_PEER), str(model), str(file), *flags], _PEER.name)


def run_command(arguments: Sequence[str]) -> Finished:
    """Run a module of the package with this interpreter, and return its figures."""
    module, *flags = arguments
    return run([sys.executable, "-m", f"bert_cli.{module}", *flags], module)


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="1000,10000,100000", help="numbers of rows, with commas, rising")
    names = [*WORKLOADS, *PEERS]
    parser.add_argument("--only", default=",".join(WORKLOADS), help="workloads with commas: " + ", ".join(names))
    parser.add_argument("--peer_python", default=sys.executable, help="the interpreter that has transformers")
    parser.add_argument("--json", help="file for all figures, a line per run")
    settings = parser.parse_args(arguments)
    unknown = sorted(set(settings.only.split(",")).difference(names))
    if unknown:
        parser.error(f"--only: unknown workload {unknown[0]!r}; known: {', '.join(names)}")
    return settings


def measure(
    names: Sequence[str], sizes: Sequence[int], folder: pathlib.Path, peer_python: str
) -> Iterator[dict[str, str | float]]:
    """Yield the figures of each workload with each number of rows.

    Args:
        names: keys of WORKLOADS and PEERS.
        sizes: numbers of rows.
        folder: empty directory for inputs and outputs.
        peer_python: interpreter for PEERS.
    """
    trained, peer_model = folder / "trained", folder / "model"
    labeled = folder / "labeled.csv"
    write_rows(labeled, 200, "labeled")
    run_command(["run_classifier", f"--train_file={labeled}", "--do_train", f"--output_dir={trained}"])
    if not PEERS.keys().isdisjoint(names):
        run_command(["convert_checkpoint", f"--from={_BUILTIN}", f"--to={peer_model}"])
    for name in names:
        form, command = {**WORKLOADS, **PEERS}[name]
        for rows in sizes:
            file = folder / (f"{form}.csv" if form in ("labeled", "texts") else f"{form}.txt")
            write_rows(file, rows, form)
            with tempfile.TemporaryDirectory(dir=folder) as output:
                arguments = command(Job(rows, file, trained, pathlib.Path(output)))
                if name in PEERS:
                    finished = run_peer(peer_python, peer_model, file, arguments)
                else:
                    finished = run_command(arguments)
            yield {
                "workload": name, "rows": rows, "seconds": finished.seconds, "cpu_seconds": finished.cpu_seconds,
                "mib": finished.mib,
            }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    settings = parse_arguments(arguments)
    sizes = [int(size) for size in settings.rows.split(",")]
    table = Table("workload", *("rows", "seconds", "CPU seconds", "MiB", "CPU µs per added row", "bytes per added row"))
    before: dict[str, str | float] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as files:
        lines = files.enter_context(open(settings.json, "w", encoding="utf-8")) if settings.json else None
        for figures in measure(settings.only.split(","), sizes, pathlib.Path(folder), settings.peer_python):
            if lines:
                print(json.dumps(figures), file=lines, flush=True)
            growth = ["", ""]
            if figures["workload"] == before.get("workload"):
                added = figures["rows"] - before["rows"]
                growth = [
                    f"{1e6 * (figures['cpu_seconds'] - before['cpu_seconds']) / added:,.0f}",
                    f"{2**20 * (figures['mib'] - before['mib']) / added:,.0f}",
                ]
            table.add_row(
                figures["workload"], f"{figures['rows']:,}", f"{figures['seconds']:.1f}",
                f"{figures['cpu_seconds']:.1f}", f"{figures['mib']:,.0f}", *growth,
            )  # fmt: skip
            before = figures
    Console().print(table)


if __name__ == "__main__":
    main()
