"""Paths on the command line and from Python, in which `~` is the home directory."""

import os

from bert_cli.base import files
from bert_cli.base.errors import refuse_if


def expand_home(path: str, source: str) -> str:
    """Return a path, or a list of paths with commas between, with home directories in place of `~` and `~user`.

    Raises:
        InputError: naming `source`, if there is no such user and no file with this name.
    """
    parts = path.split(",")
    if not any(part.startswith("~") for part in parts) or (parts[0].partition("/")[0] != "~" and files.exists(path)):
        return path
    expanded = [os.path.expanduser(part) for part in parts]
    for part in expanded:
        is_unknown = part.startswith("~") and not files.exists(part)
        user = part.partition("/")[0]
        refuse_if(is_unknown, f"{source}: {user} is no home directory; write ./{user} for a file with this name")
    return ",".join(expanded)


def path_text(path: str | os.PathLike, source: str = "path") -> str:
    """Return a path that a program passes, as text and with its home directory; see `expand_home`."""
    text = os.fspath(path)
    return expand_home(text, f"{source}={text}")
