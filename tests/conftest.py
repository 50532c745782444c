"""Fixtures for all tests. The folder `shared`, beside the checkout, holds golden outputs and data that cannot be shipped."""

import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared() -> pathlib.Path:
    """The folder `../shared`; tests that need it are skipped where it is absent."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs ../shared (golden outputs and data sets), which is not part of the project")
    return folder


@pytest.fixture(scope="session")
def fixtures() -> pathlib.Path:
    """Small files that the tests bring along."""
    return ROOT / "tests" / "fixtures"
