"""Paths given on the command line or in Python, `~` for a home directory, and lists of names."""

import os
from collections.abc import Callable
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import refuse_if
from bert_cli.base.names import join_names, split_names


def expand_home(path: str, source: str) -> str:
    """Return a path, or a comma-separated list, with `~` and `~user` replaced by home directories.

    Args:
        path: a path or a list, separated by commas.
        source: start for the error message, such as "--flag=value".

    Raises:
        InputError: if there is no such user, and no file with this name.
    """
    paths = path.split(",")
    if not any(single_path.startswith("~") for single_path in paths) or (
        paths[0].partition("/")[0] != "~" and files.exists(path)
    ):
        return path
    expanded = [os.path.expanduser(single_path) for single_path in paths]
    for single_path in expanded:
        is_unknown = single_path.startswith("~") and not files.exists(single_path)
        user = single_path.partition("/")[0]
        refuse_if(is_unknown, f"{source}: {user} is no home directory; write ./{user} for a file with this name")
    return ",".join(expanded)


def path_text(path: str | os.PathLike, source: str = "path") -> str:
    """Return a path that a program passes as text with its home directory expanded.

    See `expand_home`.
    """
    text = os.fspath(path)
    return expand_home(text, f"{source}={text}")


def name_list_properties(flag: str, least: int) -> dict[str, Any]:
    """Return Option properties for a comma-separated list of names, see `split_names`.

    Args:
        flag: the flag's name, for messages.
        least: minimum number of names. They must all differ.
    """

    def read(text: str) -> tuple[str, ...]:
        names = split_names(text)
        expected = f"--{flag}={text}: two or more different names" if least > 1 else f"--{flag}={text}: different names"
        are_wrong = len(names) < least or "" in names or len(set(names)) < len(names)
        refuse_if(are_wrong, f"{expected} with commas between are needed")
        return names

    return {"read": read, "write": join_names, "csv_quotes": True}


def folder_list_reader(flag: str) -> Callable[[str], tuple[str, ...]]:
    """Return a function that reads a comma-separated list of directories from a flag."""

    def read(text: str) -> tuple[str, ...]:
        folders = tuple(expand_home(folder, f"--{flag}={text}") for folder in text.split(",") if folder.strip())
        refuse_if(not folders, f"--{flag}={text}: names no directory")
        return folders

    return read


def file_list_reader(flag: str) -> Callable[[str], str]:
    """Return a function that reads a comma-separated list of files from a flag.

    It removes empty names, because shell loops leave a comma at the end. A file with a name that
    ends in a comma is kept.
    """

    def read(text: str) -> str:
        names = [name for name in text.split(",") if name.strip()]
        refuse_if(not names, f"--{flag}={text}: names no file")
        is_complete = len(names) == text.count(",") + 1
        return text if is_complete or files.exists(text) else ",".join(names)

    return read
