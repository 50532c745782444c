"""The flags of what computes and where, and what the inference engines, which --engine and
--precision ask for, are for.
"""

import dataclasses
from typing import Any, Self

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.engines.engine import FLOAT32, INT8, Inference
from bert_cli.engines.table import ANSWERING, AUTO, ENGINES, PRECISIONS, TENSORFLOW, chosen_inference
from bert_cli.flags.option import FlagGroup, option
from bert_cli.runtime.cluster import is_multi_worker
from bert_cli.runtime.gpus import has_gpu


class Devices(FlagGroup, heading="Devices"):
    """What computes, and in which precision."""

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
    # From here on the flags of Google's scripts, so that old command lines go on working.
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
        """See chosen_inference."""
        return chosen_inference(self.engine, self.precision)

    def for_answers(self, is_bert: bool = True) -> Self:
        """The same with the engine that answers new texts: by --engine=auto onnxruntime in float32.

        It is TensorFlow where there is a GPU, where flags or TF_CONFIG ask for devices of
        TensorFlow or for its precisions, and for a module of tensorflow-hub, which is not a BERT.
        """
        asks_for_devices = (
            self.use_tpu or self.distribution_strategy != "auto" or is_multi_worker(self.distribution_strategy)
        )
        if self.engine != AUTO or self.precision not in (AUTO, FLOAT32) or not is_bert or asks_for_devices or has_gpu():
            return self
        return dataclasses.replace(self, engine=ANSWERING, precision=FLOAT32)

    def alone(self) -> Self:
        """The same without the other processes that TF_CONFIG names: no shard needs them."""
        if not is_multi_worker(self.distribution_strategy):
            return self
        return dataclasses.replace(self, distribution_strategy="mirrored")


def check_engine(values: dict[str, Any]) -> None:
    """InputError where an inference engine does not go with the other flags."""
    asked = chosen_inference(values["engine"], values["precision"]) if "precision" in values else None
    if not asked:
        return
    flag = asked.flag
    strategy = values["distribution_strategy"]
    refuse_if(
        values.get("do_train"), f"{flag} is for predictions: train without it, then predict with it in a second command"
    )
    # An engine computes on its own; a strategy of TensorFlow would hold devices for nothing.
    refuse_if(
        strategy not in ("auto", "one_device") or values["use_tpu"] or is_multi_worker(strategy),
        f"{flag} computes on the CPU, alone: leave --distribution_strategy, --use_tpu and TF_CONFIG out",
    )


def refuse_int8(engine: str, precision: str) -> None:
    """InputError for int8 where masked words are predicted."""
    asked = chosen_inference(engine, precision)
    if asked and asked.precision == INT8:
        raise InputError(f"{asked.flag} is for predictions and features, not for masked words; leave it out")


def refuse_inference(values: dict[str, Any]) -> None:
    """InputError for an inference engine where a model is trained or evaluated on masked words."""
    if asked := chosen_inference(values["engine"], values["precision"]):
        raise InputError(f"{asked.flag} is for predictions and features, not for pre-training; leave it out")
