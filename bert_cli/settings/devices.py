"""Flags for devices, precision and inference engine, and a table of the engines."""

import dataclasses
import importlib.util
import os
from typing import Any, NamedTuple, Self

from bert_cli.base.errors import InputError
from bert_cli.base.log import warn_once
from bert_cli.flags.option import FlagGroup, option
from bert_cli.runtime.cluster import is_multi_worker
from bert_cli.runtime.machine import has_fast_bfloat16, has_gpu

FLOAT32, BFLOAT16, INT8 = "float32", "bfloat16", "int8"
AUTO, TENSORFLOW = "auto", "tensorflow"  # TensorFlow also trains, so it is not in ENGINES
ONNXRUNTIME, OPENVINO = "onnxruntime", "openvino"


@dataclasses.dataclass(frozen=True)
class EngineFacts:
    """An engine that computes trained networks on the CPU, without TensorFlow.

    Attributes:
        name: spelling in --engine; see also inference.rows.open_trained.
        precisions: precisions of matrix products; --precision=auto uses the first.
        description: text in the help of --engine.
    """

    name: str
    precisions: tuple[str, ...]
    description: str


ENGINES = {
    engine.name: engine
    for engine in (
        # onnxruntime has no bfloat16 on the CPU.
        EngineFacts(ONNXRUNTIME, (FLOAT32, INT8), "onnxruntime starts in a second, on the CPU"),
        EngineFacts(
            OPENVINO,
            (BFLOAT16, FLOAT32),
            "openvino (an extra) is the fastest in bfloat16, on CPUs with AMX or AVX-512 bf16",
        ),
    )
}
ANSWERING = ONNXRUNTIME  # engine that --engine=auto uses to answer new texts, see Devices.for_answers
OF_TENSORFLOW = (FLOAT32, BFLOAT16, "float16")
# For precisions that TensorFlow does not have: the engine that --engine=auto uses.
_FURTHER = {
    precision: engine
    for engine in reversed(ENGINES.values())
    for precision in engine.precisions
    if precision not in OF_TENSORFLOW
}
PRECISIONS = (*OF_TENSORFLOW, *_FURTHER)


class EngineChoice(NamedTuple):
    """An engine and precision chosen with flags, and the flag (with its value) that chose them.

    Attributes:
        engine, precision, flag: see above.
        num_threads: value of --num_threads.
    """

    engine: str
    precision: str
    flag: str
    num_threads: int = 0


def auto_precision() -> str:
    """Return the precision that --precision=auto uses on a CPU."""
    return BFLOAT16 if has_fast_bfloat16() else FLOAT32


def chosen_inference(engine: str, precision: str) -> EngineChoice | None:
    """Return the engine and precision for --engine and --precision, None for TensorFlow.

    Raises:
        InputError: the engine does not have the precision.
    """
    further = _FURTHER.get(precision)
    if further and engine == TENSORFLOW:
        raise InputError(
            f"--precision={precision} is computed by {further.name}, not by {TENSORFLOW}; leave --engine out"
        )
    chosen = ENGINES.get(engine, further)
    if chosen is None:
        return None
    precision = chosen.precisions[0] if precision == AUTO else precision
    if precision not in chosen.precisions:
        able = " or ".join(chosen.precisions)
        raise InputError(f"--engine={engine} computes in {able}, not in {precision}; leave --precision out")
    return EngineChoice(chosen.name, precision, f"--precision={precision}" if further else f"--engine={engine}")


# Inference engines only predict. TensorFlow's
# strategies would reserve devices that they do not use.
_NOT_WITH_ENGINE = ("do_train", "distribution_strategy=mirrored|multi_worker|tpu", "use_tpu")
_WITH_ENGINE = {
    "do_train": "it is for predictions; train without it, then predict with it in a second command",
    **dict.fromkeys(_NOT_WITH_ENGINE[1:], "it computes on the CPU, alone"),
}

# --precision and --engine in commands for masked words,
# which engines do not compute in int8 or do not train.
WITHOUT_INT8: dict[str, Any] = {
    "help": "dtype of matrix products; auto: bfloat16 if the hardware is fast in it, else float32",
    "choices": (AUTO, *OF_TENSORFLOW),
    "excludes": (),
}
WITHOUT_ENGINES: dict[str, Any] = {
    "help": "accepted as in other commands; TensorFlow trains",
    "choices": (AUTO, TENSORFLOW),
    "needs": (),
    "excludes": (),
}


class Devices(FlagGroup, heading="Devices"):
    """Devices and precision for all computations."""

    batch_size: int = option(32, "batch size", lower=1)
    distribution_strategy: str = option(
        "auto",
        "distribution strategy; auto: a TPU with --use_tpu, all GPUs if there are several, "
        "several machines if TF_CONFIG names them, else one device",
        choices=("auto", "one_device", "mirrored", "multi_worker", "tpu"),
    )
    num_virtual_devices: int = option(
        0,
        "number of logical CPU devices for --distribution_strategy=mirrored, to try several devices without GPUs",
        lower=0,
    )
    worker_timeout: int = option(600, "seconds to wait for the other processes of TF_CONFIG", lower=1)
    precision: str = option(
        "auto",
        "dtype of matrix products; auto: bfloat16 if the hardware is fast in it, else float32; "
        "int8: for predictions and features on the CPU",
        choices=(AUTO, *PRECISIONS),
        excludes={"=int8": (f"engine={TENSORFLOW}", *_NOT_WITH_ENGINE)},
        because=_WITH_ENGINE | {f"engine={TENSORFLOW}": "it is computed by onnxruntime"},
        decides_predictions=True,
    )
    engine: str = option(
        "auto",
        "inference engine; auto: onnxruntime for int8, and on a machine without a GPU for the "
        "answers to new texts (--text, --input_file, --question, masked words, models loaded in "
        "Python) and for vectors in float32, openvino (if installed) for vectors in bfloat16, else "
        "TensorFlow; " + "; ".join(engine.description for engine in ENGINES.values()),
        choices=(AUTO, TENSORFLOW, *ENGINES),
        needs={f"={name}": f"precision={'|'.join((AUTO, *engine.precisions))}" for name, engine in ENGINES.items()},
        excludes={f"={'|'.join(ENGINES)}": _NOT_WITH_ENGINE},
        because=_WITH_ENGINE,
    )
    num_threads: int = option(
        0,
        "threads that compute on the CPU; 0: one per core that the process may use, by its affinity and the CPU quota "
        "of its container",
        lower=0,
    )
    # The following flags exist in Google's scripts; old command lines continue to work.
    use_tpu: bool = option(False, "run on a TPU (needs tensorflow-tpu 2.20)")
    tpu_name: str | None = option(None, "name or grpc:// address of the TPU", may_be_empty=True)
    tpu_zone: str | None = option(None, "zone of the TPU", may_be_empty=True)
    gcp_project: str | None = option(None, "project of the TPU", may_be_empty=True)
    master: str | None = option(None, "accepted for Google's commands, without effect", may_be_empty=True, ignored=True)
    num_tpu_cores: int = option(8, "accepted for Google's commands; all cores of the TPU are used", ignored=True)
    iterations_per_loop: int = option(1000, "accepted for Google's commands, without effect", ignored=True)
    use_one_hot_embeddings: bool = option(False, "accepted for Google's commands, without effect", ignored=True)

    @property
    def inference(self) -> EngineChoice | None:
        """Return the result of `chosen_inference` for these flags."""
        inference = chosen_inference(self.engine, self.precision)
        return inference and inference._replace(num_threads=self.num_threads)

    def for_answers(self, is_bert: bool = True) -> Self:
        """Return these flags with the engine that answers new texts.

        With --engine=auto it is onnxruntime in float32. TensorFlow is used if there is a GPU, if
        flags ask for its devices or precisions, and for a tensorflow-hub module, which is not a
        BERT. TF_CONFIG is ignored, with a warning: training needs a cluster, and new texts do not.

        Args:
            is_bert: whether the encoder is a BERT and not an unknown module.
        """
        alone = self.without_cluster()
        if self._leave_engine(is_bert) or self.precision not in (AUTO, FLOAT32):
            return alone
        return dataclasses.replace(alone, engine=ANSWERING, precision=FLOAT32)

    def for_vectors(self, is_bert: bool) -> Self:
        """Return these flags with the engine that computes vectors of whole files.

        With --engine=auto it is onnxruntime in float32, and OpenVINO in bfloat16 if it is installed
        and the processor is fast in bfloat16. TensorFlow is used otherwise; see also `for_answers`.

        Args:
            is_bert: whether the encoder is a BERT and not an unknown module.
        """
        if self._leave_engine(is_bert):
            return self
        precision = auto_precision() if self.precision == AUTO else self.precision
        if precision == FLOAT32:
            return dataclasses.replace(self, engine=ONNXRUNTIME, precision=FLOAT32)
        has_openvino = importlib.util.find_spec(OPENVINO) is not None
        if precision == BFLOAT16 == auto_precision() and has_openvino:
            return dataclasses.replace(self, engine=OPENVINO, precision=BFLOAT16)
        return self

    def _leave_engine(self, is_bert: bool) -> bool:
        """Return whether --engine or the devices that flags ask for decide the engine."""
        asks_for_devices = self.use_tpu or self.distribution_strategy != "auto"
        return self.engine != AUTO or not is_bert or asks_for_devices or has_gpu()

    def without_cluster(self) -> Self:
        """Return these flags without a cluster in TF_CONFIG, and warn if it names one.

        --distribution_strategy=multi_worker asks for the cluster, and stays.
        """
        if self.distribution_strategy != "auto" or not ignores_cluster():
            return self
        return dataclasses.replace(self, distribution_strategy="mirrored")

    def without_workers(self) -> Self:
        """Return these flags without the other processes in TF_CONFIG, which shards do not need."""
        if not is_multi_worker(self.distribution_strategy):
            return self
        return dataclasses.replace(self, distribution_strategy="mirrored")


def describe_vector_engines() -> str:
    """Return the engines of bert-extract-features, and what an install would bring."""
    engines = {
        precision: Devices(precision=precision).for_vectors(is_bert=True).engine for precision in (FLOAT32, BFLOAT16)
    }
    default = TENSORFLOW if importlib.util.find_spec(TENSORFLOW) else "no engine that is installed"
    texts = [f"{precision} by {default if engine == AUTO else engine}" for precision, engine in engines.items()]
    has_gain = engines[BFLOAT16] == AUTO and has_fast_bfloat16() and not has_gpu()
    gain = "; the extra openvino computes bfloat16 in three quarters of the time" if has_gain else ""
    return f"{', '.join(texts)}{gain}"


def ignores_cluster() -> bool:
    """Return whether TF_CONFIG names other processes, or is invalid, and warn that it is ignored."""
    try:
        has_others = is_multi_worker("auto")
    except InputError:
        has_others = True
    if has_others:
        warn_once("warning: the environment variable TF_CONFIG is ignored: this process predicts texts alone")
    return has_others


def forget_cluster() -> None:
    """Remove a cluster from the environment, so that this process and its children ignore it."""
    if ignores_cluster():
        del os.environ["TF_CONFIG"]


def check_cluster(devices: Devices) -> None:
    """Raise InputError for an inference engine in a process that TF_CONFIG names."""
    inference = devices.inference
    if inference and is_multi_worker(devices.distribution_strategy):
        raise InputError(f"{inference.flag} computes on the CPU, alone: leave TF_CONFIG out")
