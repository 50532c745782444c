"""Show versions, devices, memory, free disk, missing packages, and a model's size and network.

Without a path it is the built-in model; else any model that the other commands take: an output_dir, a TF1 checkpoint, a
Hugging Face folder, a .weights.h5 file, a module for tensorflow-hub. A bert_config.json is counted as an encoder
without a head. Nothing is written. A package that cannot be imported, such as a broken TensorFlow, is named after the
other findings, with the reason. With bert_cli_light, TensorFlow is not looked for.

Examples:

    bert-doctor
    bert-classify --do_train --train_file=data/reviews.csv \\
      --output_dir=bert_output/reviews
    bert-doctor bert_output/reviews
"""

import functools
import importlib
import importlib.metadata
import importlib.util
import itertools
import platform
import shutil
from collections.abc import Callable
from typing import TypeVar

from bert_cli import __version__
from bert_cli.base.errors import InputError, explain_import, failed_import, refuse_if
from bert_cli.base.formats import byte_size, list_some
from bert_cli.base.log import LOG, RESULT
from bert_cli.flags.command import Command
from bert_cli.model.config_files import read_config
from bert_cli.opening.checkpoints import model_to_use
from bert_cli.opening.description import ModelDescription, describe_checkpoint, describe_config
from bert_cli.runtime.installing import FULL, LIGHT, distribution, extras, how_to_install, installed_distributions
from bert_cli.runtime.machine import TENSORFLOW_BYTES, describe_processors, free_memory, machine_memory
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.settings.devices import describe_vector_engines
from bert_cli.settings.groups import ModelFiles
from bert_cli.settings.tools import DoctorSettings

_PACKAGES = {
    FULL: ("tensorflow", "keras", "tensorflow-text", "tensorflow-hub", "numpy", "pandas", "scikit-learn"),
    LIGHT: ("numpy", "onnx", "onnxruntime", "safetensors", "h5py", "starlette"),
}
# Packages to import after TensorFlow as a test.
_TRIED_PACKAGES = ("onnx", "onnxruntime", "pandas", "sklearn")
_Result = TypeVar("_Result")


def check(settings: DoctorSettings, given_names: frozenset[str]) -> DoctorSettings:
    """Return the settings; raise InputError if they name several models."""
    models = settings.model.model
    refuse_if(len(models) > 1, f"{list_some(models)}: one model is looked at; name one")
    return settings


def run(settings: DoctorSettings) -> dict:
    """Log a line per finding, and return the findings by name.

    `parameters` is the result of `count_parameters`. If packages cannot be imported, raise
    InputError after logging all findings.
    """
    path = next(iter(settings.model.model), settings.files.init_checkpoint)
    config_file = settings.files.bert_config_file or (path if path.endswith(".json") else None)
    describe: Callable[[], ModelDescription]
    # Look for the model first: a wrong path must fail before the slow imports.
    if config_file:
        describe = functools.partial(describe_config, config_file, read_config(config_file))
    else:
        checkpoint = model_to_use(ModelFiles(init_checkpoint=path)).find()
        describe = functools.partial(describe_checkpoint, checkpoint)
    broken: dict[str, str] = {}
    devices = _attempt(_devices, broken) if distribution() == FULL else None
    for package in filter(importlib.util.find_spec, _TRIED_PACKAGES):
        _attempt(functools.partial(importlib.import_module, package), broken)
    packages = ", ".join(map(_version, _PACKAGES[distribution()]))
    findings = {
        "versions": f"{distribution()} {__version__}, Python {platform.python_version()}, {packages}",
        "devices": devices or describe_processors(),
        "memory": f"{byte_size(machine_memory(), MB=0, GB=1)}, {byte_size(free_memory(), MB=0, GB=1)} of them free",
        "free disk": f"{byte_size(shutil.disk_usage('.').free, GB=1)} here",
        "extras": _extras(),
        "vectors of files": describe_vector_engines(),
    }
    model = _attempt(describe, broken)
    findings |= model.lines() if model else {}
    for name, text in findings.items():
        LOG.log(RESULT, "%s: %s", name, text)
    refuse_if(
        len(installed_distributions()) > 1,
        f"{FULL} and {LIGHT} are both installed, and have the same files: pip uninstall {FULL} {LIGHT}, then install one",
    )
    if broken:
        reasons = "; ".join(itertools.starmap(explain_import, broken.items()))
        raise InputError(f"{reasons}; pip install --force-reinstall {' '.join(broken)} may help")
    return findings | {"parameters": model.parameters if model else {}}


def _attempt(action: Callable[[], _Result], broken: dict[str, str]) -> _Result | None:
    """Return the action's result, or None if a package fails, which is then added to `broken`.

    Args:
        action: function to call.
        broken: receives the package's name and the reason.
    """
    try:
        return action()
    except Exception as error:
        if not (failure := failed_import(error)):
            raise
        # Keep the first reason: importing the package again fails for other reasons.
        broken.setdefault(*failure)
        return None


def _devices() -> str:
    if free_memory() < TENSORFLOW_BYTES:
        return f"{describe_processors()}; too little memory is free to start TensorFlow ({byte_size(TENSORFLOW_BYTES, MB=0)})"
    setup_tensorflow()
    from bert_cli.training.strategy import compute_dtype, describe, make_strategy

    strategy = make_strategy("auto", use_tpu=False)
    return f"{describe(strategy)}, {describe_processors()}; --precision=auto is {compute_dtype('auto', strategy)}"


def _version(name: str) -> str:
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return f"no {name}"


def _extras() -> str:
    missing = [extra for extra, package in extras().items() if importlib.util.find_spec(package) is None]
    if not missing:
        return "all are there"
    return f"not there: {', '.join(missing)}; {how_to_install(*missing)}"


main = Command("bert-doctor", __doc__, DoctorSettings, run, check, interrupted="nothing was written")


if __name__ == "__main__":
    raise SystemExit(main())
