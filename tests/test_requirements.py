"""Locked requirements: they fit setup.py, have hashes, and name no package index. `make lock` writes them."""

import ast
import json
import pathlib
import re

import pytest
from packaging.requirements import Requirement

ROOT = pathlib.Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "requirements"
# Lock file -> extras of setup.py that it holds besides the dependencies of the package.
EXTRAS = {"all": ["serve", "openvino", "excel", "parquet"], "gpu": ["serve", "openvino", "excel", "parquet", "gpu"]}
PYTHONS = ("3.11", "3.12", "3.13")


def setup_arguments() -> dict[str, object]:
    """Return the arguments of setup() that are literals, with the constants of setup.py in place of their names."""
    tree = ast.parse((ROOT / "setup.py").read_text(encoding="utf-8"))
    constants = {
        statement.targets[0].id: ast.literal_eval(statement.value)
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant | ast.List)
    }

    class Inline(ast.NodeTransformer):
        """Put the values of constants in place of their names."""

        def visit_Name(self, node: ast.Name) -> ast.expr:
            return ast.parse(repr(constants[node.id]), mode="eval").body if node.id in constants else node

        def visit_List(self, node: ast.List) -> ast.expr:
            items = [self.visit(item.value if isinstance(item, ast.Starred) else item) for item in node.elts]
            return ast.List([leaf for item in items for leaf in (item.elts if isinstance(item, ast.List) else [item])])

    call = next(node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "setup")
    names = ("install_requires", "extras_require")
    return {word.arg: ast.literal_eval(Inline().visit(word.value)) for word in call.keywords if word.arg in names}


def locked(name: str, python: str) -> dict[str, str]:
    """Return the locked version of each package for a version of Python."""
    environment = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
    environment |= {"platform_machine": "x86_64", "platform_system": "Linux", "implementation_name": "cpython"}
    text = (REQUIREMENTS / f"{name}.lock").read_text(encoding="utf-8")
    pins = [Requirement(pin) for pin in re.findall(r"^(\S.*?) \\$", text, re.MULTILINE)]
    return {
        _normalize(pin.name): next(iter(pin.specifier)).version
        for pin in pins
        if pin.marker is None or pin.marker.evaluate(environment)
    }


def _normalize(name: str) -> str:
    """Return a package name as the lock files write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", EXTRAS)
def test_locked_versions_are_those_that_setup_allows(name, python):
    arguments = setup_arguments()
    needed = arguments["install_requires"] + [
        line for extra in EXTRAS[name] for line in arguments["extras_require"][extra]
    ]
    versions = locked(name, python)
    assert len(needed) > 20
    for requirement in map(Requirement, needed):
        assert versions[_normalize(requirement.name)] in requirement.specifier, requirement


def test_packages_that_once_broke_the_commands_have_an_upper_bound():
    arguments = setup_arguments()
    lines = arguments["install_requires"] + arguments["extras_require"]["openvino"]
    bounds = {_normalize(line.name): {bound.operator for bound in line.specifier} for line in map(Requirement, lines)}
    broke = [
        "tensorflow",
        "tensorflow-text",
        "tensorflow-hub",
        "setuptools",
        "pandas",
        "numpy",
        "onnxruntime",
        "openvino",
    ]
    assert [name for name in broke if "<" not in bounds[name]] == []


@pytest.mark.parametrize("python", PYTHONS)
def test_the_server_has_the_same_versions_without_tensorflow(python):
    server, everything = locked("serve", python), locked("all", python)
    assert {name: version for name, version in server.items() if everything.get(name) != version} == {}
    named = re.findall(r"^[a-z].*", (REQUIREMENTS / "serve.in").read_text(encoding="utf-8"), re.MULTILINE)
    assert {_normalize(name) for name in named} <= server.keys()
    assert not {"tensorflow", "keras", "pandas", "scikit-learn", "matplotlib"} & server.keys()


@pytest.mark.parametrize("name", [*EXTRAS, "serve"])
def test_every_package_has_hashes_and_no_index_is_named(name):
    text = (REQUIREMENTS / f"{name}.lock").read_text(encoding="utf-8")
    entries = re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]
    assert [entry for entry in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}", entry)] == []
    assert not re.search(r"https?:|file:|--index-url|--find-links", text)


@pytest.mark.parametrize("name", ["all", "serve"])
def test_the_bill_of_materials_lists_the_locked_packages(name):
    bill = json.loads((REQUIREMENTS / f"{name}.cdx.json").read_text(encoding="utf-8"))
    assert bill["bomFormat"] == "CycloneDX"
    assert re.findall(r"https?://[^/\"]+", json.dumps(bill)) == ["http://cyclonedx.org"]
    listed = {(_normalize(component["name"]), component["version"]) for component in bill["components"]}
    assert {pin for python in PYTHONS for pin in locked(name, python).items()} <= listed
