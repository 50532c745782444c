"""Paths given on the command line or in Python, which may begin with `~` for a home directory."""

import os

from bert_cli.base import files
from bert_cli.base.errors import refuse_if


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
