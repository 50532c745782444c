"""Files in folders: a file among several names, and brat's documents, which are pairs of files."""

import os
from collections.abc import Sequence

from bert_cli.base import files


def find_existing(paths: Sequence[str]) -> str | None:
    """Return the first path that exists, or None."""
    return next((path for path in paths if files.exists(path)), None)


def find_documents(path: str) -> list[str]:
    """Return the paths of brat's documents without suffixes, or [] for another file.

    Args:
        path: a directory with documents, a .txt file or an .ann file.
    """
    if files.is_directory(path):
        names = [name for name in files.list_directory(path) if name.endswith(".txt") and name[0] != "."]
        return [os.path.join(path, name.removesuffix(".txt")) for name in names]
    base, suffix = os.path.splitext(path)
    return [base] if suffix == ".ann" or (suffix == ".txt" and files.exists(f"{base}.ann")) else []


def find_skipped(path: str) -> list[str]:
    """Return the names in a directory that `find_documents` skips.

    These are .ann files without a .txt file, and subdirectories with documents.
    """
    names = [name for name in files.list_directory(path) if name[0] != "."]
    texts = {name.removesuffix(".txt") for name in names if name.endswith(".txt")}
    annotations = [name for name in names if name.endswith(".ann") and name.removesuffix(".ann") not in texts]
    folders = [
        name for name in names if not name.endswith((".txt", ".ann")) and find_documents(os.path.join(path, name))
    ]
    return sorted([*annotations, *folders])
