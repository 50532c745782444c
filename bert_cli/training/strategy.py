"""Where the computation runs: one device, several, several machines, or a TPU."""

import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.runtime.cluster import read_cluster
from bert_cli.runtime.processor import BFLOAT16_UNITS, processor_flags
from bert_cli.runtime.rendezvous import wait_for_workers
from bert_cli.runtime.signals import ended_by_system

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
) -> tf.distribute.Strategy:
    """Build the tf.distribute strategy for --distribution_strategy and the TPU flags.

    auto: a TPU with use_tpu; several machines where TF_CONFIG names more than one that trains; all
    GPUs where there are several; else the one GPU, or the CPU. num_virtual_devices: for mirrored,
    logical CPUs; 0 for the devices that are there. worker_timeout: seconds that several machines
    wait for each other, see runtime.rendezvous. Raises InputError where what was asked for is not
    there, and TemporaryError where another machine does not come.
    """
    if num_virtual_devices and name != "mirrored":
        raise InputError(f"--num_virtual_devices={num_virtual_devices} is for --distribution_strategy=mirrored")
    if name == "tpu" or (name == "auto" and use_tpu):
        return _tpu_strategy(tpu_name, tpu_zone, gcp_project)
    computing = read_cluster().computing
    if name == "multi_worker" or (name == "auto" and computing > 1):
        if not computing:
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


def _multi_worker_strategy(worker_timeout: int) -> tf.distribute.Strategy:
    # TensorFlow itself waits for an hour without a log line, see runtime.rendezvous.
    wait_for_workers(worker_timeout)
    # TensorFlow holds Python's lock during its start, so that no handler and no thread could run. It
    # would wait forever for a program that listens but never answers.
    with ended_by_system(worker_timeout):
        return tf.distribute.MultiWorkerMirroredStrategy()


def _virtual_devices(count: int) -> list[str]:
    """Create `count` logical CPUs and return their names; InputError where this process has
    computed with another number.
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
        # TensorFlow's reason is often about a name server, and cut short.
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
    """True for the one process that writes files."""
    return strategy.cluster_resolver is None or is_tpu(strategy) or read_cluster().is_chief


def describe(strategy: tf.distribute.Strategy) -> str:
    """One line for the log: which devices compute."""
    count = strategy.num_replicas_in_sync
    unit = "TPU core" if is_tpu(strategy) else "GPU" if _on_gpu(strategy) else "CPU"
    return f"{count} {unit}{'s' if count > 1 else ''}"


def peak_device_memory() -> int | None:
    """The most bytes of the first GPU's memory that this process has held; None without a GPU."""
    gpus = tf.config.list_logical_devices("GPU")
    if not gpus:
        return None
    return int(tf.config.experimental.get_memory_info(gpus[0].name.removeprefix("/device:"))["peak"])


def on_one_cpu(strategy: tf.distribute.Strategy) -> bool:
    return strategy.num_replicas_in_sync == 1 and all("CPU" in device for device in strategy.extended.worker_devices)


def _on_gpu(strategy: tf.distribute.Strategy) -> bool:
    return any("GPU" in device for device in strategy.extended.worker_devices)


def compute_dtype(precision: str, strategy: tf.distribute.Strategy) -> str:
    """The dtype of matrix products for --precision; auto is bfloat16 where the hardware has it
    fast, else float32.
    """
    if precision != "auto":
        return precision
    if is_tpu(strategy):
        return "bfloat16"
    if _on_gpu(strategy):
        details = [tf.config.experimental.get_device_details(gpu) for gpu in tf.config.list_physical_devices("GPU")]
        fast = all(detail.get("compute_capability", (0, 0)) >= _BFLOAT16_CAPABILITY for detail in details)
        return "bfloat16" if fast else "float32"
    return "bfloat16" if BFLOAT16_UNITS & processor_flags() else "float32"


def use_exact_float32(dtype: str) -> None:
    """Where products are computed in float32: in whole float32.

    dtype: of compute_dtype. From Ampere on, TensorFlow's default on NVIDIA is TensorFloat-32, which
    keeps 10 bits of the factors of a product and misses Google's numbers in the third digit.
    """
    if dtype == "float32":
        tf.config.experimental.enable_tensor_float_32_execution(False)
