"""Locked requirements: they fit setup.py, have hashes, and name no package index. `make lock` writes them."""

import json
import re
import runpy
from collections.abc import Iterator
from typing import Any
from unittest import mock

import setuptools
from packaging.requirements import Requirement

from tests.house_figures import Checkout

# Lock file -> extras of setup.py that it holds besides the dependencies of the package.
EXTRAS = {"all": ["serve", "openvino", "excel", "parquet"], "gpu": ["serve", "openvino", "excel", "parquet", "gpu"]}
PYTHONS = ("3.11", "3.12", "3.13")
# Packages that once broke the commands with a new release.
BOUNDED = (
    "tensorflow", "tensorflow-text", "tensorflow-hub", "setuptools", "pandas", "numpy", "onnxruntime", "openvino",
)  # fmt: skip
NOT_IN_THE_SERVER = {"tensorflow", "keras", "pandas", "scikit-learn", "matplotlib"}
_ADVICE = "run make lock"
_BILL_ADVICE = "run make bills"


def setup_arguments(checkout: Checkout, folder: str = "") -> dict[str, Any]:
    """Return the arguments that setup.py passes to setup().

    Args:
        checkout: the checkout.
        folder: directory of the distribution, "" for bert_cli or "light".
    """
    arguments: dict[str, Any] = {}
    with mock.patch.object(setuptools, "setup", arguments.update):
        runpy.run_path(str(checkout.root / folder / "setup.py"))
    return arguments


def locked(checkout: Checkout, name: str, python: str) -> dict[str, str]:
    """Return the locked version of each package for a version of Python."""
    environment = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
    environment |= {"platform_machine": "x86_64", "platform_system": "Linux", "implementation_name": "cpython"}
    text = checkout.text(f"requirements/{name}.lock")
    pins = [Requirement(pin) for pin in re.findall(r"^(\S.*?) \\$", text, re.MULTILINE)]
    return {
        _normalize(pin.name): next(iter(pin.specifier)).version
        for pin in pins
        if pin.marker is None or pin.marker.evaluate(environment)
    }


def _normalize(name: str) -> str:
    """Return a package name as the lock files write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def versions(checkout: Checkout) -> Iterator[str]:
    """Yield requirements of setup.py that a locked version does not meet."""
    arguments = setup_arguments(checkout)
    for name, extras in EXTRAS.items():
        lines = [line for extra in extras for line in arguments["extras_require"][extra]]
        for python in PYTHONS:
            pins = locked(checkout, name, python)
            for requirement in map(Requirement, arguments["install_requires"] + lines):
                version = pins.get(_normalize(requirement.name))
                if version is None or version not in requirement.specifier:
                    place = checkout.place("setup.py", requirement.name)
                    yield f"{place}: {requirement}, but {name}.lock has {version} for Python {python}: {_ADVICE}"


def upper_bounds(checkout: Checkout) -> Iterator[str]:
    """Yield packages in BOUNDED that any later release may break again."""
    arguments = setup_arguments(checkout)
    lines = arguments["install_requires"] + arguments["extras_require"]["openvino"]
    bounds = {_normalize(line.name): {bound.operator for bound in line.specifier} for line in map(Requirement, lines)}
    for name in BOUNDED:
        if "<" not in bounds.get(name, set()):
            yield f"{checkout.place('setup.py', name)}: {name} has no upper bound: add one"


def server_versions(checkout: Checkout) -> Iterator[str]:
    """Yield packages of bert_cli_light with another version than in all.lock, missing ones, and those without use."""
    named = {_normalize(Requirement(line).name) for line in setup_arguments(checkout, "light")["install_requires"]}
    for python in PYTHONS:
        server, everything = locked(checkout, "serve", python), locked(checkout, "all", python)
        for name, version in server.items():
            if everything.get(name) != version:
                place = checkout.place("requirements/serve.lock", f"{name}==")
                yield f"{place}: {name} {version}, but all.lock has {everything.get(name)}: {_ADVICE}"
        for name in sorted(named - server.keys()):
            yield f"{checkout.place('setup.py', name)}: {name} is not in serve.lock: {_ADVICE}"
        for name in sorted(NOT_IN_THE_SERVER & server.keys()):
            place = checkout.place("requirements/serve.lock", f"{name}==")
            yield f"{place}: the server does not need {name}: remove what asks for it from COMMON in setup.py"


def hashes(checkout: Checkout) -> Iterator[str]:
    """Yield locked packages without a hash, and names of indexes."""
    for name in (*EXTRAS, "serve"):
        path = f"requirements/{name}.lock"
        text = checkout.text(path)
        for entry in re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]:
            if not re.search(r"--hash=sha256:[0-9a-f]{64}", entry):
                yield f"{checkout.place(path, entry.splitlines()[0])}: no hash: {_ADVICE}"
        if match := re.search(r"https?:|file:|--index-url|--find-links", text):
            yield f"{checkout.place(path, match[0])}: {match[0]} names an index: {_ADVICE}"


def bills(checkout: Checkout) -> Iterator[str]:
    """Yield bills of materials with another form, with addresses, or with gaps."""
    for name in (*EXTRAS, "serve"):
        path = f"requirements/{name}.cdx.json"
        text = checkout.text(path)
        bill = json.loads(text)
        if bill["bomFormat"] != "CycloneDX":
            yield f"{checkout.place(path, 'bomFormat')}: the format is not CycloneDX: {_BILL_ADVICE}"
        for address in set(re.findall(r"https?://[^/\"]+", text)) - {"http://cyclonedx.org"}:
            yield f"{checkout.place(path, address)}: {address} is part of no bill: {_BILL_ADVICE}"
        listed = {(_normalize(component["name"]), component["version"]) for component in bill["components"]}
        pins = {pin for python in PYTHONS for pin in locked(checkout, name, python).items()}
        for package, version in sorted(pins ^ listed):
            problem = "is not locked" if (package, version) in listed else "is not listed"
            yield f"{path}:1: {package} {version} {problem}: {_BILL_ADVICE}"
        lock = checkout.text(f"requirements/{name}.lock")
        for component in bill["components"]:
            values = [value["content"] for value in component["hashes"]]
            if not values or any(value not in lock for value in values):
                place = checkout.place(path, f'"name": "{component["name"]}"')
                yield f"{place}: a hash of {component['name']} is not in {name}.lock: {_BILL_ADVICE}"
        required = {child for dependency in bill["dependencies"] for child in dependency["dependsOn"]}
        for component in bill["components"]:
            if component["bom-ref"] not in required:
                place = checkout.place(path, f'"name": "{component["name"]}"')
                yield f"{place}: nothing requires {component['name']}: {_BILL_ADVICE}"


CHECKS = (versions, upper_bounds, server_versions, hashes, bills)
