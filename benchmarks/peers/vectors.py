"""Normalized mean vectors of a file's lines, with an engine that is common on processors.

    vectors.py ENGINE MODEL LINES [--onnx FILE] [--ct2 FOLDER] [--output FILE] [--device cuda] [--batch 32]

ENGINE is sentence-transformers, optionally followed by -compiled (torch.compile), -bf16 or both;
onnxruntime, onnxruntime-int8, openvino or openvino-bf16, which use FILE, a graph from
input_word_ids, input_mask and input_type_ids to sequence_output; or ctranslate2 or
ctranslate2-int8, which use FOLDER. After all but the first, -parallel computes as many batches at a
time as there are processors, by a thread each. If not, all threads share a batch. All use batches of
--batch lines sorted by length, cut to 128 tokens. If --output is given, the vectors are saved there
as .npy. Prints a JSON object: lines per second, without loading.
"""

import argparse
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

LONGEST = 128


def padded(ids: list[list[int]]) -> dict[str, np.ndarray]:
    """Return the inputs of a batch, padded to the longest row."""
    words = np.zeros((len(ids), max(map(len, ids))), np.int32)
    for row, row_ids in zip(words, ids, strict=True):
        row[: len(row_ids)] = row_ids
    mask = np.arange(words.shape[1]) < np.array([len(row_ids) for row_ids in ids])[:, None]
    return {"input_word_ids": words, "input_mask": mask.astype(np.int32), "input_type_ids": np.zeros_like(words)}


def mean(states: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the normalized mean vector of each row, using the tokens alone."""
    total = (states * mask[:, :, None].astype(np.float32)).sum(1)
    return total / np.linalg.norm(total, axis=1, keepdims=True)


def batches(model: str, lines: list[str], batch: int) -> Iterator[tuple[list[int], list[list[int]]]]:
    """Yield (line numbers, token ids) per batch, longest lines first."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(f"{model}/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    ids = [encoded.ids for encoded in tokenizer.encode_batch(lines)]
    order = sorted(range(len(ids)), key=lambda number: -len(ids[number]))
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        yield rows, [ids[row] for row in rows]


def onnxruntime_engine(path: str, num_batches: int) -> Callable:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if num_batches > 1:
        options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda feed: session.run(["sequence_output"], feed)[0]


def openvino_engine(path: str, precision: str, num_batches: int) -> Callable:
    import openvino

    hints = {"INFERENCE_PRECISION_HINT": precision}
    hints |= {"NUM_STREAMS": str(num_batches)} if num_batches > 1 else {"PERFORMANCE_HINT": "LATENCY"}
    model = openvino.Core().compile_model(path, "CPU", hints)
    output = next(port for port in model.outputs if "sequence_output" in port.get_names())
    of_thread = threading.local()

    def infer(feed: dict[str, np.ndarray]) -> np.ndarray:
        if not hasattr(of_thread, "request"):
            of_thread.request = model.create_infer_request()
        return of_thread.request.infer(feed)[output]

    return infer


def sentence_transformers(settings: argparse.Namespace, lines: list[str]) -> tuple[np.ndarray, float]:
    import torch
    from sentence_transformers import SentenceTransformer

    loaded = SentenceTransformer(settings.model, device=settings.device, model_kwargs={"attn_implementation": "sdpa"})
    loaded.max_seq_length = LONGEST
    if settings.engine.endswith("bf16"):
        loaded = loaded.bfloat16()
    if "compiled" in settings.engine:
        loaded[0].forward = torch.compile(loaded[0].forward, dynamic=True)
    # Compile and start the kernels before the clock runs.
    loaded.encode(lines[: 2 * settings.batch], batch_size=settings.batch)
    start = time.perf_counter()
    vectors = loaded.encode(lines, batch_size=settings.batch, normalize_embeddings=True)
    return vectors, time.perf_counter() - start


def graph_engine(settings: argparse.Namespace, lines: list[str]) -> tuple[np.ndarray, float]:
    name = settings.engine.removesuffix("-parallel")
    num_batches = 1 if name == settings.engine else os.cpu_count() or 1
    if name.startswith("ctranslate2"):
        import ctranslate2

        compute_type = "int8" if name.endswith("int8") else "float32"
        threads = {"inter_threads": num_batches, "intra_threads": 1} if num_batches > 1 else {}
        encoder = ctranslate2.Encoder(settings.ct2, device="cpu", compute_type=compute_type, **threads)
        as_float = ctranslate2.DataType.float32
        states = lambda ids, feed: np.array(encoder.forward_batch(ids).last_hidden_state.to(as_float))  # noqa: E731
    else:
        precision = "bf16" if name.endswith("bf16") else "f32"
        engine = (
            onnxruntime_engine(settings.onnx, num_batches)
            if name.startswith("onnxruntime")
            else openvino_engine(settings.onnx, precision, num_batches)
        )
        states = lambda ids, feed: engine(feed)  # noqa: E731

    def compute(batch: tuple[list[int], list[list[int]]]) -> dict[int, np.ndarray]:
        rows, ids = batch
        feed = padded(ids)
        return dict(zip(rows, mean(states(ids, feed), feed["input_mask"]), strict=True))

    start, vector_by_row = time.perf_counter(), {}
    with ThreadPoolExecutor(num_batches) as threads:
        for vectors_of_rows in threads.map(compute, batches(settings.model, lines, settings.batch)):
            vector_by_row |= vectors_of_rows
    vectors = np.stack([vector_by_row[row] for row in range(len(lines))])
    return vectors, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("engine", "model", "lines", "--onnx", "--ct2", "--output"):
        parser.add_argument(name)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int, default=32)
    settings = parser.parse_args()
    with open(settings.lines, encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    if settings.engine.startswith("sentence-transformers"):
        vectors, seconds = sentence_transformers(settings, lines)
    else:
        vectors, seconds = graph_engine(settings, lines)
    if settings.output:
        np.save(settings.output, vectors)
    print(json.dumps({"lines": len(lines) / seconds}))


if __name__ == "__main__":
    main()
