"""Show what the tool computes with: versions, devices, memory, free disk, packages that are missing, size and network
of a model.

Without a path it is the built-in model; else any that the other commands take: an output_dir, a TF1 checkpoint, a Hugging
Face folder, a .weights.h5 file, a module for tensorflow-hub. A bert_config.json is counted as an encoder without a head.
Nothing is written.

Examples:

    bert-doctor
    bert-classify --do_train --train_file=data/reviews.csv \\
      --output_dir=bert_output/reviews
    bert-doctor bert_output/reviews
"""

import importlib.metadata
import importlib.util
import os
import platform
import shutil
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.formats import byte_size
from bert_cli.base.head_types import count_parameters, head_of, parameters_line
from bert_cli.base.json_files import read_json_object
from bert_cli.base.log import LOG, RESULT
from bert_cli.base.names import CONFIG, HUGGING_FACE_CONFIG
from bert_cli.base.version import __version__
from bert_cli.flags.command import Command
from bert_cli.model.config_files import MODULE_KEY, read_config
from bert_cli.model.networks import BERT, ELECTRA, NETWORKS
from bert_cli.model.shapes import encoder_shapes
from bert_cli.runs.loading.checkpoints import ready_checkpoint
from bert_cli.runtime.memory import machine_memory
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.settings.groups import ModelFiles
from bert_cli.settings.tools import DoctorSettings
from bert_cli.weights.names import is_of_training
from bert_cli.weights.path import find_checkpoint

_PACKAGES = ("tensorflow", "keras", "tensorflow-text", "tensorflow-hub", "numpy", "pandas", "scikit-learn")
# Extra -> a package of it.
_EXTRAS = {
    "onnx": "onnxruntime",
    "openvino": "openvino",
    "parquet": "pyarrow",
    "beam": "apache_beam",
    "tensorboard": "tensorboard",
}


def check(values: dict[str, Any], given: frozenset[str]) -> dict[str, Any]:
    """InputError for several models."""
    named = [*values["model"], *filter(None, (values["init_checkpoint"], values["bert_config_file"]))]
    if len(named) > 1:
        raise InputError(f"{' '.join(named)}: one model is looked at; name one")
    return values


def run(settings: DoctorSettings) -> dict[str, Any]:
    """Log a line for each finding; returns them by name, `parameters` as count_parameters gives them."""
    path = next(iter(settings.model.model), settings.files.init_checkpoint)
    config_file = settings.files.bert_config_file or (path if path.endswith(".json") else None)
    if config_file:
        shapes = encoder_shapes(read_config(config_file))
    else:
        checkpoint = find_checkpoint(path) if path else ready_checkpoint("", ModelFiles())
    setup_tensorflow()
    from bert_cli.training.strategy import compute_dtype, describe, make_strategy
    from bert_cli.weights.checkpoint import open_checkpoint
    from bert_cli.weights.electra import ElectraReader

    strategy = make_strategy("auto", use_tpu=False)
    description, is_electra = config_file, False
    if not config_file:
        config_file = checkpoint.companion(CONFIG, HUGGING_FACE_CONFIG)
        reader = open_checkpoint(checkpoint)
        description, is_electra = reader.description, isinstance(reader, ElectraReader)
        shapes = {name: shape for name, shape in reader.shapes.items() if not is_of_training(name)}
    counts = count_parameters(shapes)
    versions = {name: importlib.metadata.version(name) for name in _PACKAGES}
    missing = [extra for extra, package in _EXTRAS.items() if importlib.util.find_spec(package) is None]
    found = {
        "versions": f"bert_cli {__version__}, Python {platform.python_version()}, "
        + ", ".join(f"{name} {version}" for name, version in versions.items()),
        "devices": f"{describe(strategy)}, {os.cpu_count()} cores; --precision=auto is {compute_dtype('auto', strategy)}",
        "memory": byte_size(machine_memory(), GB=1),
        "free disk": f"{byte_size(shutil.disk_usage('.').free, GB=1)} here",
        "extras": "all are there"
        if not missing
        else f"not there: {', '.join(missing)}; pip install 'bert_cli[{','.join(missing)}]'",
        "model": f"{description}: {parameters_line(counts)}",
    }
    network = NETWORKS[ELECTRA].title if is_electra else _network(config_file) if config_file else None
    if network:
        heads = sorted({head for name in shapes if (head := head_of(name))})
        found["network"] = f"{network}; heads: {', '.join(heads) or 'none'}"
    for name, text in found.items():
        LOG.log(RESULT, "%s: %s", name, text)
    return found | {"parameters": counts}


def _network(config_file: str) -> str | None:
    """What a config calls the network; None for one that is not read, and for a module."""
    values = read_json_object(config_file)
    network = NETWORKS.get(str(values.get("model_type", BERT)))
    return network.title if network and MODULE_KEY not in values else None


main = Command("bert-doctor", __doc__, DoctorSettings, run, check, interrupted="nothing was written")


if __name__ == "__main__":
    raise SystemExit(main())
