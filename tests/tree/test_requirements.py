"""Locked requirements: each check reports a change in a copy of the checkout, with its file and line."""

import re

import pytest

from tests.house_figures import HOUSE
from tests.tree.requirements import bills, hashes, server_versions, upper_bounds, versions

SERVER = "requirements/serve.lock"
PIN = re.search(r"^numpy==(\S+) ", HOUSE.text(SERVER), re.MULTILINE)[0]
HASH = re.search(r"--hash=sha256:\w+", HOUSE.text(SERVER))[0]


@pytest.mark.parametrize(
    ("check", "path", "before", "after", "problem"),
    [
        (versions, "requirements/gpu.lock", PIN, "numpy==1.0 ", "but gpu.lock has 1.0 for Python 3.11"),
        (versions, "setup.py", '"tensorflow-text', '"tensorflow-texts', "but all.lock has None"),
        (server_versions, SERVER, PIN, "numpy==1.0 ", f"{SERVER}:"),
        (server_versions, SERVER, PIN, "pandas==1.0 ", "the server does not need pandas"),
        (server_versions, SERVER, PIN, "numbers==1.0 ", "numpy is not in serve.lock"),
        (hashes, SERVER, HASH, f"--index-url=x {HASH}", "--index-url names an index"),
        (bills, "requirements/serve.cdx.json", "CycloneDX", "Cyclone", "the format is not CycloneDX"),
        (bills, "requirements/serve.cdx.json", '"name": "numpy"', '"name": "numbers"', "is not listed"),
        (bills, "requirements/gpu.cdx.json", '"content": "', '"content": "0', "a hash of"),
        (bills, "requirements/gpu.cdx.json", '"dependsOn": [', '"dependsOn": ["x"], "before": [', "nothing requires"),
        (bills, "requirements/all.cdx.json", '"numpy"', '"https://a.test/b"', "https://a.test is part of no bill"),
    ],
)  # fmt: skip
def test_a_change_is_reported(check, path, before, after, problem, changed_tree):
    messages = list(check(changed_tree(path, before, after)))
    assert [message for message in messages if problem in message], messages


def test_every_package_has_a_hash(changed_tree):
    entry = re.search(r"^numpy==.*\n(?: .*\n)+", HOUSE.text(SERVER), re.MULTILINE)[0]
    checkout = changed_tree(SERVER, entry, entry.splitlines()[0] + "\n")
    (problem,) = hashes(checkout)
    assert problem.startswith(f"{checkout.place(SERVER, 'numpy==')}: no hash")


def test_packages_that_broke_the_commands_need_an_upper_bound(changed_tree):
    line = re.search(r'"numpy>=[^"]*"', HOUSE.text("setup.py"))[0]
    (problem,) = upper_bounds(changed_tree("setup.py", line, '"numpy>=1"'))
    assert "numpy has no upper bound" in problem
