"""Workloads: inputs, programs, and operations per example."""

import dataclasses
import functools
import json
import pathlib
import sys
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from benchmarks import inputs, ours, serving
from benchmarks.limits import TORCH_DEVICES, operations_of_token
from benchmarks.measured import MEMORY, OURS
from benchmarks.processes import missing_reason, run

PEERS = pathlib.Path(__file__).parent / "peers"
_RATE = 1e-4
_BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
_SMALL = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}


def _both(engine: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return (engine, module), with a batch for all threads and with a batch per thread."""
    module = engine.partition("-")[0]
    return (engine, module), (f"{engine}-parallel", module)


_ENGINES = {
    "float32": (
        ("sentence-transformers", "sentence_transformers"),
        *_both("openvino"),
        *_both("onnxruntime"),
        *_both("ctranslate2"),
    ),
    "bfloat16": (("sentence-transformers-bf16", "sentence_transformers"), *_both("openvino-bf16")),
    "int8": (*_both("onnxruntime-int8"), *_both("ctranslate2-int8")),
}
# Common engines on a GPU; the others are for processors.
_GPU_ENGINES = {
    "float32": ("sentence-transformers", "sentence-transformers-compiled"),
    "bfloat16": ("sentence-transformers-bf16", "sentence-transformers-compiled-bf16"),
    "int8": (),
}
# Our fastest engine in each precision; TensorFlow and onnxruntime give the same vectors.
_OURS = {
    "float32": ["--engine=openvino", "--precision=float32"],
    "bfloat16": ["--engine=openvino", "--precision=bfloat16"],
    "int8": ["--precision=int8"],
}
_TRAINING = 3  # forward pass, and backward passes to inputs and weights

Program = Callable[[], dict[str, float]]


@dataclasses.dataclass(frozen=True)
class Context:
    """Settings of all workloads.

    Attributes:
        model: a Hugging Face directory.
        folder: directory for inputs and outputs.
        peer_python: interpreter that has the other programs.
        precision: dtype that all programs use, such as "bfloat16".
        share: factor for the number of rows.
        batch: texts per training step.
        device: "cpu" or "gpu".
    """

    model: str
    folder: pathlib.Path
    peer_python: str
    precision: str
    share: float
    batch: int
    device: str

    def count(self, rows: int) -> int:
        return max(64, round(rows * self.share))

    @property
    def on_gpu(self) -> bool:
        return self.device == "gpu"

    @property
    def peer_flags(self) -> list[str]:
        """Return precision and device as flags for a peer script."""
        return [*(["--bf16"] if self.precision == "bfloat16" else []), "--device", TORCH_DEVICES[self.device]]

    @property
    def compiled(self) -> dict[str, list[str]]:
        """Return compilation flags for a peer script by suffix: none, on a GPU also torch.compile."""
        return {"": []} | ({", torch.compile": ["--compile"]} if self.on_gpu else {})

    @functools.cached_property
    def words(self) -> list[str]:
        return inputs.whole_words(pathlib.Path(self.model) / "vocab.txt")

    @functools.cached_property
    def config(self) -> dict[str, int]:
        return json.loads((pathlib.Path(self.model) / "config.json").read_text(encoding="utf-8"))


@dataclasses.dataclass
class Workload:
    """A task that several programs do.

    Attributes:
        name: its name in the table.
        width: the model's hidden size.
        precision: dtype to use for the limit.
        operations: operations per example, by figure.
        make: function that returns the programs.
        absent: programs that cannot be used, and why.
    """

    name: str
    width: int
    precision: str
    operations: dict[str, float]
    make: Callable[["Workload"], dict[str, Program]]
    absent: dict[str, str] = dataclasses.field(default_factory=dict)

    def programs(self) -> dict[str, Program]:
        return self.make(self)


def _operations(config: dict[str, int], lengths: dict[str, np.ndarray]) -> dict[str, float]:
    per_token = operations_of_token(config)
    train, test = (float(lengths[split].mean()) * per_token for split in ("train", "test"))
    return {"steady": _TRAINING * train, "predict": test}


def _peer(
    context: Context, workload: Workload, name: str, modules: list[str], arguments: list[object]
) -> dict[str, Program]:
    """Return {name: program} for a script in PEERS, or {} if its modules are missing.

    Args:
        context: settings.
        workload: workload that records a missing program.
        name: program name.
        modules: modules that the script imports.
        arguments: script name and arguments.
    """
    reason = missing_reason(context.peer_python, modules)
    if reason:
        workload.absent[name] = reason
        return {}
    script, *rest = arguments

    def program() -> dict[str, float]:
        process = run([context.peer_python, str(PEERS / str(script)), *map(str, rest)], name)
        return process.last_object() | {"seconds": process.seconds, MEMORY: process.mib}

    return {name: program}


def _fine_tuning(context: Context, name: str, length_name: str, train_rows: int) -> Workload:
    """Return a workload with an epoch of fine-tuning, an evaluation, and predictions for test rows.

    There are twice as many test rows as training rows.

    Args:
        context: settings.
        name: workload name.
        length_name: key of inputs.LENGTHS.
        train_rows: number of training rows.
    """
    folder = context.folder / name
    count = context.count(train_rows)
    lengths = inputs.write_tsv(folder, context.words, length_name, {"train": count, "dev": 500, "test": 2 * count})

    def make(workload: Workload) -> dict[str, Program]:
        flags: dict[str, object] = {
            "data_dir": folder, "init_checkpoint": context.model, "num_train_epochs": 1,
            "train_batch_size": context.batch, "learning_rate": _RATE, "precision": context.precision,
            "max_seq_length": 128,
        }  # fmt: skip
        programs: dict[str, Program] = {OURS: lambda: ours.classify(flags, context.folder / "out", count)}
        shared = ["trainer.py", context.model, folder, "--batch", context.batch, "--epochs", 1, "--max_seq_length", 128]
        shared += ["--rate", _RATE, *context.peer_flags]
        for mode, mode_flags in (("Trainer, dynamic padding", []), ("Trainer, batches of like length", ["--group"])):
            for suffix, compiled in context.compiled.items():
                # Slow on a GPU: each new width is compiled.
                if compiled and not mode_flags:
                    continue
                arguments = [*shared, *mode_flags, *compiled]
                programs |= _peer(context, workload, mode + suffix, ["transformers", "accelerate"], arguments)
        return programs

    return Workload(name, context.config["hidden_size"], context.precision, _operations(context.config, lengths), make)


def _base(context: Context) -> Workload:
    """Return a workload that trains BERT-Base from random weights on rows of 128 tokens.

    Its batches are half as large as in other workloads.
    """
    folder, batch = context.folder / "base", context.batch // 2
    size = {"train": context.count(320), "dev": 32, "test": context.count(160)}
    lengths = inputs.write_tsv(folder, context.words, "full", size)
    vocab = pathlib.Path(context.model) / "vocab.txt"
    config = {**_BASE, "vocab_size": context.config["vocab_size"], "model_type": "bert", "num_labels": 2}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for name in ("vocab.txt", "tokenizer.json"):
        (folder / name).write_bytes(vocab.with_name(name).read_bytes())

    def make(workload: Workload) -> dict[str, Program]:
        flags: dict[str, object] = {
            "data_dir": folder, "vocab_file": vocab, "bert_config_file": folder / "config.json", "num_train_epochs": 1,
            "train_batch_size": batch, "learning_rate": _RATE, "precision": context.precision, "max_seq_length": 128,
        }  # fmt: skip
        arguments = ["trainer.py", folder, folder, "--batch", batch, "--epochs", 1, "--max_seq_length", 128, "--random"]
        arguments += ["--rate", _RATE, *context.peer_flags]
        programs: dict[str, Program] = {OURS: lambda: ours.classify(flags, context.folder / "out", size["train"])}
        for suffix, compiled in context.compiled.items():
            name = f"Trainer{suffix}"
            programs |= _peer(context, workload, name, ["transformers", "accelerate"], [*arguments, *compiled])
        return programs

    return Workload("base", _BASE["hidden_size"], context.precision, _operations(_BASE, lengths), make)


def _vectors(context: Context, precision: str) -> Workload:
    count = context.count(5000)
    lengths = inputs.token_counts("lines", count, 7)
    lines = context.folder / "lines.txt"
    texts = inputs.texts(context.words, lengths, np.zeros(count, np.int64), 7)
    lines.write_text("\n".join(texts) + "\n", encoding="utf-8")
    vectors, expected = context.folder / "vectors.npy", context.folder / "wanted.npy"

    def make(workload: Workload) -> dict[str, Program]:
        graphs, ct2 = context.folder / "export", context.folder / "ct2"
        graph = graphs / ("model_int8.onnx" if precision == "int8" else "model.onnx")
        batch = 256 if context.on_gpu else 32
        engine_flags = [f"--precision={precision}", f"--batch_size={batch}"] if context.on_gpu else _OURS[precision]
        programs: dict[str, Program] = {OURS: lambda: ours.vectors(context.model, lines, vectors, engine_flags)}
        on_gpu = tuple((engine, "sentence_transformers") for engine in _GPU_ENGINES[precision])
        for engine, module in on_gpu if context.on_gpu else _ENGINES[precision]:
            modules = [module] if module == "sentence_transformers" else [module, "tokenizers"]
            arguments = ["vectors.py", engine, context.model, lines, "--onnx", graph, "--ct2", ct2, "--output", vectors]
            arguments += ["--device", TORCH_DEVICES[context.device], "--batch", batch]
            programs |= _peer(context, workload, engine, modules, arguments)
        if any(engine.startswith(("openvino", "onnxruntime")) for engine in programs) and not graph.exists():
            ours.export_encoder(context.model, graphs)
        if any(engine.startswith("ctranslate2") for engine in programs) and not ct2.exists():
            converter = pathlib.Path(context.peer_python).with_name("ct2-transformers-converter")
            run([str(converter), "--model", context.model, "--output_dir", str(ct2)], "ct2-transformers-converter")
        ours.vectors(context.model, lines, expected, ["--precision=float32"])
        return {name: functools.partial(compared, program) for name, program in programs.items()}

    def compared(program: Program) -> dict[str, float]:
        """Return the program's figures, and how similar its vectors are to ours in float32."""
        figures, cosines = program(), (np.load(vectors) * np.load(expected)).sum(axis=1)
        return figures | {"cosine": float(np.median(cosines)), "cosine_of_worst": float(np.quantile(cosines, 0.01))}

    operations = {"lines": float(lengths.mean()) * operations_of_token(context.config)}
    # Compare int8 with the bfloat16 limit: the libraries have no 8-bit products to measure.
    products = "bfloat16" if precision == "int8" else precision
    return Workload(f"vectors-{precision}", context.config["hidden_size"], products, operations, make)


def _pretraining(context: Context) -> Workload:
    """Return a workload that pre-trains a 4 × 256 model on rows of 128 tokens, 20 of them masked."""
    vocab, steps = pathlib.Path(context.model) / "vocab.txt", max(20, round(60 * context.share))
    config = {**_SMALL, "vocab_size": context.config["vocab_size"]}
    path, text = context.folder / "small.json", context.folder / "corpus.txt"
    path.write_text(json.dumps(config), encoding="utf-8")
    count = 6000
    sentences = inputs.texts(context.words, inputs.token_counts("lines", count, 9), np.zeros(count, np.int64), 9)
    paragraphs = ["\n".join(sentences[start : start + 40]) for start in range(0, count, 40)]
    text.write_text("\n\n".join(paragraphs) + "\n", encoding="utf-8")

    def make(workload: Workload) -> dict[str, Program]:
        flags: dict[str, object] = {
            "input_file": text, "vocab_file": vocab, "bert_config_file": path, "max_seq_length": 128,
            "max_predictions_per_seq": 20, "train_batch_size": context.batch, "num_train_steps": steps, "num_warmup_steps": 10,
            "precision": context.precision,
        }  # fmt: skip
        arguments = ["pretraining.py", path, "--batch", context.batch, "--length", 128, "--predictions", 20]
        arguments += ["--steps", steps, *context.peer_flags]
        programs: dict[str, Program] = {OURS: lambda: ours.pretrain(flags, context.folder / "out")}
        for suffix, compiled in context.compiled.items():
            name = f"BertForMaskedLM and a loop{suffix}"
            programs |= _peer(context, workload, name, ["transformers"], [*arguments, *compiled])
        return programs

    encoder = 128 * operations_of_token(_SMALL)
    head = 20 * 2 * _SMALL["hidden_size"] * (_SMALL["hidden_size"] + config["vocab_size"])
    operations = {"sequences": float(_TRAINING * (encoder + head))}
    return Workload("pretraining", _SMALL["hidden_size"], context.precision, operations, make)


def _one(context: Context, name: str, engine_flags: Sequence[str]) -> Workload:
    """Return a workload with one text of ten words, in a running process and from a cold start."""
    folder, trained = context.folder / name, context.folder / f"{name}-trained"
    inputs.write_tsv(folder, context.words, "short", {"train": 64, "dev": 8, "test": 8})

    def make(workload: Workload) -> dict[str, Program]:
        flags: dict[str, object] = {
            "data_dir": folder, "init_checkpoint": context.model, "num_train_epochs": 1, "train_batch_size": 32,
            "precision": context.precision, "max_seq_length": 128,
        }  # fmt: skip
        ours.classify(flags, trained, 64)
        return {OURS: lambda: ours.one_text(trained, " ".join(context.words[:10]), engine_flags)}

    return Workload(name, context.config["hidden_size"], context.precision, {}, make)


def _serve(context: Context) -> Workload:
    """Return a workload with a classifier and an encoder as HTTP servers.

    The texts have about 12 and 50 tokens.
    """
    folder, trained, converted = (context.folder / name for name in ("serve", "serve-trained", "serve-hf"))
    inputs.write_tsv(folder, context.words, "short", {"train": 64, "dev": 8, "test": 8})
    texts = {}
    for name, length_name, count in (("12", "short", 4000), ("50", "news", 2000)):
        lengths = inputs.token_counts(length_name, context.count(count), 11)
        sentences = inputs.texts(context.words, lengths, np.zeros(len(lengths), np.int64), 11)
        texts[name] = folder / f"texts{name}.txt"
        texts[name].write_text("\n".join(sentences) + "\n", encoding="utf-8")

    def make(workload: Workload) -> dict[str, Program]:
        flags: dict[str, object] = {
            "data_dir": folder, "init_checkpoint": context.model, "num_train_epochs": 1, "train_batch_size": 32,
            "precision": context.precision, "max_seq_length": 128,
        }  # fmt: skip
        ours.classify(flags, trained, 64)
        run(
            [sys.executable, "-m", "bert_cli.convert_checkpoint", f"--from={trained}", f"--to={converted}"],
            "bert-convert",
        )
        programs: dict[str, Program] = {
            OURS: lambda: (
                serving.ours(trained, texts)
                | serving.our_vectors(context.model, texts)
                | serving.overload(trained, texts["50"])
            )
        }
        peers: dict[str, tuple[list[str], Program]] = {
            "FastAPI and transformers": (
                ["fastapi", "uvicorn", "transformers", "torch"],
                lambda: serving.fastapi(context.peer_python, PEERS / "serve_fastapi.py", converted, texts),
            ),
            "infinity": (["infinity_emb"], lambda: serving.infinity(context.peer_python, context.model, texts)),
        }
        for name, (modules, program) in peers.items():
            if reason := missing_reason(context.peer_python, modules):
                workload.absent[name] = reason
            else:
                programs[name] = program
        return programs

    return Workload("serve", context.config["hidden_size"], "float32", {}, make)


_MAKERS: dict[str, Callable[[Context], Workload]] = {
    "short": lambda context: _fine_tuning(context, "short", "short", 4000),
    "news": lambda context: _fine_tuning(context, "news", "news", 2000),
    "base": _base,
    "vectors-bfloat16": lambda context: _vectors(context, "bfloat16"),
    "vectors-float32": lambda context: _vectors(context, "float32"),
    "vectors-int8": lambda context: _vectors(context, "int8"),
    "pretraining": _pretraining,
    "one-text": lambda context: _one(context, "one-text", [f"--precision={context.precision}"]),
    "one-text-onnxruntime": lambda context: _one(context, "one-text-onnxruntime", ["--engine=onnxruntime"]),
    "one-text-int8": lambda context: _one(context, "one-text-int8", _OURS["int8"]),
    "serve": _serve,
}
NAMES = tuple(_MAKERS)


def workloads(context: Context, names: Sequence[str]) -> Iterator[Workload]:
    """Return the workloads with these names, in the order of NAMES, as an iterator.

    Each workload makes its inputs when it is reached.
    """
    return (_MAKERS[name](context) for name in NAMES if name in names)
