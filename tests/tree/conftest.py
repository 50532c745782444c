"""Small trees for the checks."""

import shutil

import pytest

from tests.house_figures import HOUSE, Checkout

# Files that checks of pages, build, deploy and requirements read.
COPIED = (
    "README.md", "CONTRIBUTING.md", "Makefile", "setup.py", "pyproject.toml", "light", ".dockerignore", ".ci", ".github",
    "deploy", "docs", "requirements", "tests/clone.py", "bert_cli/__init__.py",
)  # fmt: skip


@pytest.fixture
def write_tree(tmp_path):
    """Return a function that writes files and returns the checkout that has them."""

    def write(files: dict[str, str]) -> Checkout:
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text, encoding="utf-8")
        return Checkout(tmp_path)

    return write


@pytest.fixture
def changed_tree(write_tree, tmp_path):
    """Return a function that copies this checkout without code, replaces a text in a file, and returns the copy."""

    def change(path: str, before: str, after: str) -> Checkout:
        for name in COPIED:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            if (HOUSE.root / name).is_dir():
                shutil.copytree(HOUSE.root / name, tmp_path / name, symlinks=True)
            else:
                shutil.copy(HOUSE.root / name, tmp_path / name)
        text = HOUSE.text(path)
        assert before in text
        return write_tree({path: text.replace(before, after, 1)})

    return change
