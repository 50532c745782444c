"""Decisions about all data files in the repository, and in ../shared/cases, are the stored ones.

If one is meant to change, `python -m tests.decisions --update` stores the new decisions.
"""

import pytest

from tests import decisions


def stored(golden: str) -> list[str]:
    return (decisions.ROOT / "tests" / golden).read_text(encoding="utf-8").splitlines()


def test_files_in_the_repository():
    assert list(decisions.decisions("decisions.txt")) == stored("decisions.txt")


def test_files_of_public_reports(shared):
    if not (shared / "cases").is_dir():
        pytest.skip("needs ../shared/cases, which is not part of the project")
    assert list(decisions.decisions("decisions_shared.txt", is_short=True)) == stored("decisions_shared.txt")
