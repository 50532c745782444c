"""Our commands, as programs of a workload."""

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

_LOGGED = 10  # steps between two lines of history.jsonl


def _rates(output_dir: pathlib.Path) -> list[float]:
    """Examples a second of each _LOGGED steps."""
    return [line["examples_per_second"] for line in read_history(str(output_dir)) if "examples_per_second" in line]


def classify(flags: dict[str, object], output_dir: pathlib.Path, rows: int) -> dict[str, float]:
    """bert-classify trains, evaluates and predicts; rows: that are trained on."""
    shutil.rmtree(output_dir, ignore_errors=True)
    command = [sys.executable, "-m", "bert_cli.run_classifier", "--do_train", "--do_eval", "--do_predict", "--noreport"]
    command += [f"--log_steps={_LOGGED}", f"--output_dir={output_dir}", "--task_name=cola", "--bias_correction"]
    done = run(command + [f"--{name}={value}" for name, value in flags.items()], "bert-classify")
    report = json.loads((output_dir / "run_report.json").read_text(encoding="utf-8"))
    batch, rates = int(str(flags["train_batch_size"])), _rates(output_dir)
    found = {
        "train": report["train_examples_per_second"],
        "steady": statistics.median(rates[1:] or rates),
        "predict": report["predict_examples_per_second"],
        "seconds": done.seconds,
        QUALITY: report["eval"]["eval_accuracy"],
        MEMORY: done.mib,
    }
    # What the first lines' steps took beyond the time of as many steady ones.
    first_steps = min(_LOGGED, rows // batch)
    found["first"] = first_steps * batch * (1 / rates[0] - 1 / found["steady"])
    found["first"] += batch / found["steady"]
    return found


def vectors(model: str, lines: pathlib.Path, output: pathlib.Path, how: Sequence[str]) -> dict[str, float]:
    """bert-extract-features makes the mean vector of each line, of length 1. how: flags of precision and engine."""
    command = [sys.executable, "-m", "bert_cli.extract_features", f"--init_checkpoint={model}", f"--input_file={lines}"]
    command += [f"--output_file={output}", "--output_format=npy", "--pooling=mean", "--normalize"]
    done = run([*command, *how, "--max_seq_length=128"], "bert-extract-features")
    rate = re.search(r"^wrote .*: \d+ lines, ([\d.]+) a second$", done.errors, re.MULTILINE)
    if not rate:
        sys.exit(f"error: bert-extract-features logged no rate:\n{done.errors[-2000:]}")
    return {"lines": float(rate[1]), "seconds": done.seconds, MEMORY: done.mib}


def pretrain(flags: dict[str, object], output_dir: pathlib.Path) -> dict[str, float]:
    """bert-pretrain on text."""
    shutil.rmtree(output_dir, ignore_errors=True)
    command = [sys.executable, "-m", "bert_cli.run_pretraining", "--do_train", "--noreport", f"--log_steps={_LOGGED}"]
    command += [f"--output_dir={output_dir}", *(f"--{name}={value}" for name, value in flags.items())]
    done = run(command, "bert-pretrain")
    rates = _rates(output_dir)
    return {"sequences": statistics.median(rates[1:] or rates), "seconds": done.seconds, MEMORY: done.mib}


def export_encoder(model: str, folder: pathlib.Path) -> None:
    """The encoder as the ONNX files that other engines read, model.onnx and, quantized by onnxruntime, model_int8.onnx."""
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


def one_text(folder: pathlib.Path, text: str, how: Sequence[str]) -> dict[str, float]:
    """A text while the process is running, in Python, and from a cold start, by the command. how: see vectors."""
    warm = run([sys.executable, "-c", _ONE_TEXT, str(folder), text, *how], "Classifier.predict").last_object()
    command = [sys.executable, "-m", "bert_cli.run_classifier", f"--output_dir={folder}", f"--text={text}"]
    done = run([*command, *how], "bert-classify --text")
    return {"one": warm["one"], "seconds": done.seconds, MEMORY: done.mib}
