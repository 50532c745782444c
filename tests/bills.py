"""Bills of materials of the locked packages, in CycloneDX: `python -m tests.bills NAME REPORT …`, for `make lock`.

pip's reports have the metadata of every locked package for the oldest and the newest Python on Linux: licenses, the
hashes of the installed files, and what each package requires. Nothing is downloaded but metadata.
"""

import json
import pathlib
import re
import sys
from collections import defaultdict
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house_figures import HOUSE
from tests.tree.requirements import EXTRAS, locked, setup_arguments

_LONGEST_LICENSE = 80  # characters; longer ones are the license's text
_CLASSIFIER = "License :: "


def licenses(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a package's licenses: its expression, else a short name, else those of its classifiers."""
    if expression := metadata.get("license_expression"):
        return [{"expression": expression}]
    name = (metadata.get("license") or "").strip()
    classifiers = [
        entry.rpartition(" :: ")[2] for entry in metadata.get("classifier", []) if entry.startswith(_CLASSIFIER)
    ]
    is_name = name and len(name) <= _LONGEST_LICENSE and "\n" not in name and "://" not in name
    return [
        {"license": {"name": entry}} for entry in ([name] if is_name else sorted(set(classifiers) - {"OSI Approved"}))
    ]


def edges(root: list[str], required: dict[str, list[str]]) -> dict[str, set[str]]:
    """Return the names that each package requires, with the extras that others ask for; "" is the root.

    Args:
        root: requirements of bert_cli.
        required: requirements of each locked package, by its name.
    """
    found: dict[str, set[str]] = defaultdict(set)
    asked: dict[str, set[str]] = {}
    waiting = [("", Requirement(line)) for line in root]
    while waiting:
        parent, requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name not in required:
            continue  # for another system
        found[parent].add(name)
        if name in asked and requirement.extras <= asked[name]:
            continue
        asked[name] = asked.get(name, set()) | requirement.extras
        waiting += [
            (name, child)
            for child in map(Requirement, required[name])
            if child.marker is None or any(child.marker.evaluate({"extra": extra}) for extra in {"", *asked[name]})
        ]
    return found


def bill(name: str, reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the bill of requirements/NAME.lock.

    Args:
        name: "all", "gpu" or "serve".
        reports: reports of `pip install --dry-run`, one per Python.
    """
    hashes: dict[tuple[str, str], set[str]] = defaultdict(set)
    packages: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in (entry for report in reports for entry in report["install"]):
        metadata = entry["metadata"]
        key = (canonicalize_name(metadata["name"]), metadata["version"])
        packages[key] = metadata
        hashes[key].add(entry["download_info"]["archive_info"]["hashes"]["sha256"])
    required: dict[str, list[str]] = defaultdict(list)
    for (package, _), metadata in packages.items():
        required[package] += metadata.get("requires_dist", [])
    references: dict[str, list[str]] = defaultdict(list)
    for package, version in sorted(packages):
        references[package].append(f"pkg:pypi/{package}@{version}")
    arguments = setup_arguments(HOUSE, "light" if name == "serve" else "")
    lines = [line for extra in EXTRAS.get(name, []) for line in arguments["extras_require"][extra]]
    depends_on = edges([*arguments["install_requires"], *lines], required)
    own = {"type": "application", "name": arguments["name"], "version": arguments["version"]}
    root = f"pkg:pypi/{arguments['name']}@{arguments['version']}"
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own | {"bom-ref": root, "licenses": [{"expression": arguments["license"]}]}},
        "components": [
            {
                "type": "library",
                "bom-ref": f"pkg:pypi/{package}@{version}",
                "name": package,
                "version": version,
                "purl": f"pkg:pypi/{package}@{version}",
                "licenses": licenses(metadata),
                "hashes": [{"alg": "SHA-256", "content": value} for value in sorted(hashes[package, version])],
            }
            for (package, version), metadata in sorted(packages.items())
        ],
        "dependencies": [
            {"ref": reference, "dependsOn": sorted(child for name in depends_on[package] for child in references[name])}
            for package in ["", *references]
            for reference in (references[package] if package else [root])
        ],
    }


def lock_for(name: str, python: str) -> str:
    """Return the entries of requirements/NAME.lock for a Python, without markers, as pip evaluates them for its own."""
    pins = locked(HOUSE, name, python)
    lines = []
    for entry in re.split(r"^(?=\S)", HOUSE.text(f"requirements/{name}.lock"), flags=re.MULTILINE)[1:]:
        package, version = re.match(r"([^=\s]+)==(\S+)", entry).groups()
        if pins.get(canonicalize_name(package)) == version:
            lines.append(re.sub(r" ; [^\\\n]*", " ", entry, count=1))
    return "".join(lines)


def main(name: str, *paths: str) -> None:
    """Write requirements/NAME.cdx.json from reports, or with "--for=3.13" print the lock file for a Python."""
    if paths[0].startswith("--for="):
        print(lock_for(name, paths[0].removeprefix("--for=")), end="")
        return
    reports = [json.loads(pathlib.Path(path).read_text(encoding="utf-8")) for path in paths]
    text = json.dumps(bill(name, reports), indent=1)
    assert not re.search(r"https?://(?!cyclonedx)", text), "a bill has no addresses"
    (HOUSE.root / "requirements" / f"{name}.cdx.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
