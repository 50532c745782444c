"""Devices for the computation: one or several, several machines, or a TPU."""

import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG, warn_once
from bert_cli.runtime.cluster import read_cluster, wait_for_workers
from bert_cli.runtime.machine import has_fast_bfloat16, pool_size
from bert_cli.runtime.signals import default_signal_handling

# NVIDIA's Ampere is the first generation with fast bfloat16.
_BFLOAT16_CAPABILITY = (8, 0)


def make_strategy(
    name: str,
    use_tpu: bool,
    tpu_name: str | None = None,
    tpu_zone: str | None = None,
    gcp_project: str | None = None,
    num_virtual_devices: int = 0,
    worker_timeout: int = 600,
    num_threads: int = 0,
) -> tf.distribute.Strategy:
    """Return the tf.distribute strategy for --distribution_strategy and the TPU flags.

    Args:
        name: value of --distribution_strategy. With auto: a TPU if use_tpu is set; several machines
            if TF_CONFIG names several that train; otherwise all GPUs, or the CPU.
        num_virtual_devices: number of logical CPUs for mirrored; 0 to use the existing devices.
        worker_timeout: seconds that several machines wait for each other, see `wait_for_workers`.
        num_threads: value of --num_threads.

    Raises:
        InputError: if the devices do not exist.
        TemporaryError: if another machine does not appear in time.
    """
    if num_virtual_devices and name != "mirrored":
        raise InputError(f"--num_virtual_devices={num_virtual_devices} is for --distribution_strategy=mirrored")
    _limit_threads(num_threads)
    if name == "tpu" or (name == "auto" and use_tpu):
        return _tpu_strategy(tpu_name, tpu_zone, gcp_project)
    num_training = read_cluster().num_training
    if name == "multi_worker" or (name == "auto" and num_training > 1):
        if not num_training:
            raise InputError(
                "--distribution_strategy=multi_worker needs the environment variable TF_CONFIG, which has none"
            )
        return _multi_worker_strategy(worker_timeout)
    if num_virtual_devices:
        return tf.distribute.MirroredStrategy(_virtual_devices(num_virtual_devices))
    gpus = tf.config.list_logical_devices("GPU")
    if name == "mirrored" or (name == "auto" and len(gpus) > 1):
        return tf.distribute.MirroredStrategy([device.name for device in gpus or tf.config.list_logical_devices("CPU")])
    return tf.distribute.OneDeviceStrategy(gpus[0].name if gpus else "/cpu:0")


def _limit_threads(num_threads: int) -> None:
    """Set the size of TensorFlow's thread pools; warn if TensorFlow has started already."""
    size = pool_size(num_threads)
    if not size:
        return
    try:
        tf.config.threading.set_intra_op_parallelism_threads(size)
        tf.config.threading.set_inter_op_parallelism_threads(size)
    except RuntimeError:
        warn_once(f"warning: TensorFlow has started in this process already, so it does not use {size} threads")


def _multi_worker_strategy(worker_timeout: int) -> tf.distribute.Strategy:
    wait_for_workers(worker_timeout)
    # TensorFlow holds Python's lock during its start, so that no handler
    # and no thread could run. It would wait forever for a program that
    # listens but never answers. So the log line comes before.
    LOG.info(
        "all processes of TF_CONFIG listen; TensorFlow connects them, or the process ends within "
        "--worker_timeout=%d seconds with exit code 142", worker_timeout,
    )  # fmt: skip
    with default_signal_handling(worker_timeout):
        return tf.distribute.MultiWorkerMirroredStrategy()


def _virtual_devices(count: int) -> list[str]:
    """Create `count` logical CPUs and return their names.

    Raises:
        InputError: if this process has already used another number.
    """
    try:
        tf.config.set_logical_device_configuration(
            tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * count
        )
    except RuntimeError:
        raise InputError(
            f"--num_virtual_devices={count}: TensorFlow has computed in this process with other "
            "devices; start a new one"
        ) from None
    return [device.name for device in tf.config.list_logical_devices("CPU")]


def _tpu_strategy(tpu_name: str | None, tpu_zone: str | None, gcp_project: str | None) -> tf.distribute.Strategy:
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
            tpu=tpu_name or "local", zone=tpu_zone, project=gcp_project
        )
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    except (ValueError, RuntimeError, ImportError, tf.errors.OpError, OSError) as error:
        # TensorFlow's reason is often about a name server, and truncated.
        LOG.debug("TensorFlow says: %s", error)
        where = f"with --tpu_name={tpu_name}" if tpu_name else "on this machine"
        raise InputError(
            f"no TPU could be reached {where}; a TPU needs tensorflow-tpu 2.20, and --tpu_name "
            "where it belongs to another machine; leave --use_tpu out to compute without one, or "
            "give --verbose to see TensorFlow's reason"
        ) from None


def is_tpu(strategy: tf.distribute.Strategy) -> bool:
    return isinstance(strategy, tf.distribute.TPUStrategy)


def is_chief(strategy: tf.distribute.Strategy) -> bool:
    """Return whether this is the process that writes files."""
    return strategy.cluster_resolver is None or is_tpu(strategy) or read_cluster().is_chief


def describe(strategy: tf.distribute.Strategy) -> str:
    """Return the devices for the log, such as "2 GPUs"."""
    count = strategy.num_replicas_in_sync
    if is_tpu(strategy):
        unit = "TPU core"
    else:
        unit = "GPU" if _on_gpu(strategy) else "CPU"
    return f"{count} {unit}{'s' if count > 1 else ''}"


def peak_device_memory() -> int | None:
    """Return the peak memory of this process on the first GPU in bytes; None without a GPU."""
    gpus = tf.config.list_logical_devices("GPU")
    if not gpus:
        return None
    return int(tf.config.experimental.get_memory_info(gpus[0].name.removeprefix("/device:"))["peak"])


def on_one_cpu(strategy: tf.distribute.Strategy) -> bool:
    return strategy.num_replicas_in_sync == 1 and all("CPU" in device for device in strategy.extended.worker_devices)


def _on_gpu(strategy: tf.distribute.Strategy) -> bool:
    return any("GPU" in device for device in strategy.extended.worker_devices)


def compute_dtype(precision: str, strategy: tf.distribute.Strategy) -> str:
    """Return the dtype of matrix products for --precision.

    With auto, it is bfloat16 if the hardware has fast bfloat16, else float32.
    """
    if precision != "auto":
        return precision
    if is_tpu(strategy):
        return "bfloat16"
    if _on_gpu(strategy):
        details = [tf.config.experimental.get_device_details(gpu) for gpu in tf.config.list_physical_devices("GPU")]
        fast = all(detail.get("compute_capability", (0, 0)) >= _BFLOAT16_CAPABILITY for detail in details)
        return "bfloat16" if fast else "float32"
    return "bfloat16" if has_fast_bfloat16() else "float32"


def use_exact_float32(dtype: str) -> None:
    """Turn TensorFloat-32 off if products use float32.

    It is TensorFlow's default on NVIDIA GPUs since Ampere. It keeps only 10 bits of each factor, so
    results differ from Google's in the third digit.

    Args:
        dtype: result of compute_dtype.
    """
    if dtype == "float32":
        tf.config.experimental.enable_tensor_float_32_execution(False)
