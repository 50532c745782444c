"""The installed distribution of the package, and the commands that install another one or an extra.

bert_cli has all dependencies. bert_cli_light, from the directory light/ of the clone, leaves out TensorFlow and what only
training needs. Both have the same files, so an environment should have one of them.
"""

import functools
import importlib.metadata
import importlib.util
import re
from collections.abc import Sequence

from bert_cli.base.errors import failed_import, refuse_if

FULL, LIGHT = "bert_cli", "bert_cli_light"
# Distribution -> extra -> a package that it installs.
_EXTRAS = {
    FULL: {
        "openvino": "openvino",
        "parquet": "pyarrow",
        "beam": "apache_beam",
        "tensorboard": "tensorboard",
    },
    LIGHT: {"hub": "huggingface_hub", "openvino": "openvino", "otel": "opentelemetry"},
}


@functools.cache
def installed_distributions() -> tuple[str, ...]:
    """Return the names of the installed distributions; none if only PYTHONPATH has the package."""
    return tuple(name for name in (FULL, LIGHT) if _is_installed(name))


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def distribution() -> str:
    """Return the name of the distribution with all its dependencies."""
    return LIGHT if installed_distributions() == (LIGHT,) else FULL


def extras() -> dict[str, str]:
    """Return the extras of the installed distribution, with a package that each of them installs."""
    return _EXTRAS[distribution()]


def explain_left_out(error: Exception) -> str | None:
    """Return one line about a package that bert_cli_light leaves out, or None for other errors."""
    failure = failed_import(error) if distribution() == LIGHT else None
    names = (re.split(r"[^\w.-]", line)[0] for line in importlib.metadata.requires(LIGHT) or ()) if failure else ()
    if not failure or _normalize(failure[0]) in map(_normalize, names):
        return None
    return f"{failure[0]} is needed, which {LIGHT} leaves out: {how_to_install()}"


def _normalize(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


def how_to_install(*names: str) -> str:
    """Return the command that installs bert_cli with extras, or without one.

    The distributions are on no package index yet, so the command needs the clone.
    """
    options = f"[{','.join(names)}]" if names else ""
    if distribution() == LIGHT and names and _EXTRAS[LIGHT].keys() >= set(names):
        return f"pip install -e './light{options}' in the clone"
    replace = f"pip uninstall {LIGHT}, then " if distribution() == LIGHT else ""
    return f"{replace}pip install -e '.{options}' in the clone"


def require_packages(packages: Sequence[str], subject: str, extra: str) -> None:
    """Raise InputError if a package is missing that an extra installs.

    Args:
        packages: names of packages to import.
        subject: begin of the message, such as "bert-serve".
    """
    missing = next((package for package in packages if importlib.util.find_spec(package) is None), None)
    refuse_if(missing, f"{subject} needs the package {missing}: {how_to_install(extra)}")
