"""The origin of a run: command line, machine, and commit of the working directory."""

import platform
import shlex
import subprocess
import sys

from bert_cli.runtime.process import PROCESS

_GIT_SECONDS = 5.0  # a repository on a slow network disk must not hold up a run


def describe_origin() -> dict[str, str]:
    """Return command_line, host and git_commit for run_report.json.

    command_line is absent in a program that uses the package, and git_commit outside a repository.
    """
    origin = {"host": platform.node()}
    if PROCESS.is_command:
        origin["command_line"] = shlex.join(sys.argv)
    if commit := _git_commit():
        origin["git_commit"] = commit
    return origin


def _git_commit() -> str:
    """Return the commit of the working directory's repository; "" without one."""
    command = ["git", "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_GIT_SECONDS)
    except (OSError, subprocess.TimeoutExpired):  # git is not installed, or the disk is slow
        return ""
    return done.stdout.strip()
