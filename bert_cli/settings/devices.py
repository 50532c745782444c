"""Flags for devices, precision and inference engine, and checks of commands that allow no engine."""

import dataclasses
from typing import Any, Self

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.engines.engine import FLOAT32, INT8, Inference
from bert_cli.engines.table import ANSWERING, AUTO, ENGINES, PRECISIONS, TENSORFLOW, chosen_inference
from bert_cli.flags.option import FlagGroup, option
from bert_cli.runtime.cluster import is_multi_worker
from bert_cli.runtime.gpus import has_gpu


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
    )
    engine: str = option(
        "auto",
        "inference engine; auto: onnxruntime for int8, and on a machine without a GPU for the "
        "answers to new texts (--text, --input_file, --question, masked words, models loaded in "
        "Python), else TensorFlow; " + "; ".join(engine.description for engine in ENGINES.values()),
        choices=(AUTO, TENSORFLOW, *ENGINES),
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
    def inference(self) -> Inference | None:
        """Return the result of `chosen_inference` for these flags."""
        return chosen_inference(self.engine, self.precision)

    def for_answers(self, is_bert: bool = True) -> Self:
        """Return these flags with the engine that answers new texts.

        With --engine=auto it is onnxruntime in float32. TensorFlow is used if there is a GPU, if
        flags or TF_CONFIG ask for its devices or precisions, and for a tensorflow-hub module, which
        is not a BERT.

        Args:
            is_bert: whether the encoder is a BERT and not an unknown module.
        """
        asks_for_devices = (
            self.use_tpu or self.distribution_strategy != "auto" or is_multi_worker(self.distribution_strategy)
        )
        if self.engine != AUTO or self.precision not in (AUTO, FLOAT32) or not is_bert or asks_for_devices or has_gpu():
            return self
        return dataclasses.replace(self, engine=ANSWERING, precision=FLOAT32)

    def without_workers(self) -> Self:
        """Return these flags without the other processes in TF_CONFIG, which shards do not need."""
        if not is_multi_worker(self.distribution_strategy):
            return self
        return dataclasses.replace(self, distribution_strategy="mirrored")


def check_engine(values: dict[str, Any]) -> None:
    """Raise InputError if an inference engine conflicts with other flags."""
    inference = chosen_inference(values["engine"], values["precision"]) if "precision" in values else None
    if not inference:
        return
    flag = inference.flag
    strategy = values["distribution_strategy"]
    refuse_if(
        values.get("do_train"), f"{flag} is for predictions: train without it, then predict with it in a second command"
    )
    # TensorFlow's strategy would reserve devices that the engine does not use.
    refuse_if(
        strategy not in ("auto", "one_device") or values["use_tpu"] or is_multi_worker(strategy),
        f"{flag} computes on the CPU, alone: leave --distribution_strategy, --use_tpu and TF_CONFIG out",
    )


def refuse_int8(engine: str, precision: str) -> None:
    """Raise InputError for int8, which cannot predict masked words."""
    inference = chosen_inference(engine, precision)
    if inference and inference.precision == INT8:
        raise InputError(f"{inference.flag} is for predictions and features, not for masked words; leave it out")


def refuse_inference(values: dict[str, Any]) -> None:
    """Raise InputError for an inference engine if masked words are trained or evaluated."""
    if inference := chosen_inference(values["engine"], values["precision"]):
        raise InputError(f"{inference.flag} is for predictions and features, not for pre-training; leave it out")
