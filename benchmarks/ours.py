"""Our commands as programs in a workload."""

import json
import pathlib
import re
import shutil
import statistics
import sys
from collections.abc import Sequence

from benchmarks.measured import MEMORY, QUALITY
from benchmarks.processes import run
from bert_cli.outputs.history import read_history

_LOG_STEPS = 10  # steps per line of history.jsonl


def _rates(output_dir: pathlib.Path) -> list[float]:
    """Return examples per second for each group of _LOG_STEPS steps."""
    return [line["examples_per_second"] for line in read_history(str(output_dir)) if "examples_per_second" in line]


def classify(flags: dict[str, object], output_dir: pathlib.Path, rows: int) -> dict[str, float]:
    """Train, evaluate and predict with bert-classify, and return the figures.

    Args:
        flags: flags by name.
        output_dir: directory, which is emptied first.
        rows: number of training rows.
    """
    shutil.rmtree(output_dir, ignore_errors=True)
    command = [sys.executable, "-m", "bert_cli.run_classifier", "--do_train", "--do_eval", "--do_predict", "--noreport"]
    command += [f"--log_steps={_LOG_STEPS}", f"--output_dir={output_dir}", "--task_name=cola", "--bias_correction"]
    process = run(command + [f"--{name}={value}" for name, value in flags.items()], "bert-classify")
    report = json.loads((output_dir / "run_report.json").read_text(encoding="utf-8"))
    batch, rates = int(str(flags["train_batch_size"])), _rates(output_dir)
    figures = {
        "train": report["train_examples_per_second"],
        "steady": statistics.median(rates[1:] or rates),
        "predict": report["predict_examples_per_second"],
        "seconds": process.seconds,
        QUALITY: report["eval"]["eval_accuracy"],
        MEMORY: process.mib,
    }
    # Time of the first logged steps beyond the time of as many steady steps.
    first_steps = min(_LOG_STEPS, rows // batch)
    figures["first"] = first_steps * batch * (1 / rates[0] - 1 / figures["steady"])
    figures["first"] += batch / figures["steady"]
    return figures


def vectors(model: str, lines: pathlib.Path, output: pathlib.Path, engine_flags: Sequence[str]) -> dict[str, float]:
    """Extract a normalized mean vector per line with bert-extract-features, and return the figures.

    Args:
        model: checkpoint.
        lines: text file.
        output: .npy file for the vectors.
        engine_flags: flags for precision and engine.
    """
    command = [sys.executable, "-m", "bert_cli.extract_features", f"--init_checkpoint={model}", f"--input_file={lines}"]
    command += [f"--output_file={output}", "--output_format=npy", "--pooling=mean", "--normalize"]
    process = run([*command, *engine_flags, "--max_seq_length=128"], "bert-extract-features")
    rate = re.search(r"^wrote .*: \d+ lines, ([\d.]+) a second$", process.errors, re.MULTILINE)
    if not rate:
        sys.exit(f"error: bert-extract-features logged no rate:\n{process.errors[-2000:]}")
    return {"lines": float(rate[1]), "seconds": process.seconds, MEMORY: process.mib}


def pretrain(flags: dict[str, object], output_dir: pathlib.Path) -> dict[str, float]:
    """Pre-train on text with bert-pretrain, and return the figures."""
    shutil.rmtree(output_dir, ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "bert_cli.run_pretraining",
        "--do_train",
        "--noreport",
        f"--log_steps={_LOG_STEPS}",
    ]
    command += [f"--output_dir={output_dir}", *(f"--{name}={value}" for name, value in flags.items())]
    process = run(command, "bert-pretrain")
    rates = _rates(output_dir)
    return {"sequences": statistics.median(rates[1:] or rates), "seconds": process.seconds, MEMORY: process.mib}


def export_encoder(model: str, folder: pathlib.Path) -> None:
    """Export the encoder as model.onnx and, quantized by onnxruntime, as model_int8.onnx."""
    command = [sys.executable, "-m", "bert_cli.export_model", "--format=onnx", f"--init_checkpoint={model}"]
    run([*command, f"--export_dir={folder}", "--quantize=int8"], "bert-export")


_ONE_TEXT = """
import json, sys, time
from bert_cli import Classifier
how = dict(flag.removeprefix("--").split("=") for flag in sys.argv[3:])
model = Classifier.load(sys.argv[1], **how)
text, times = sys.argv[2], []
for _ in range(60):
    began = time.perf_counter(); model.predict([text]); times.append(time.perf_counter() - began)
print(json.dumps({"one": sorted(times)[30] * 1000}))
"""


def one_text(folder: pathlib.Path, text: str, engine_flags: Sequence[str]) -> dict[str, float]:
    """Measure one text in a running Python process, and by the command from a cold start.

    Args:
        folder: output_dir with a trained classifier.
        text: the text.
        engine_flags: see `vectors`.
    """
    warm = run([sys.executable, "-c", _ONE_TEXT, str(folder), text, *engine_flags], "Classifier.predict").last_object()
    command = [sys.executable, "-m", "bert_cli.run_classifier", f"--output_dir={folder}", f"--text={text}"]
    process = run([*command, *engine_flags], "bert-classify --text")
    return {"one": warm["one"], "seconds": process.seconds, MEMORY: process.mib}
