"""Command line, machine and commit in run_report.json."""

import os
import platform
import subprocess
import sys

from bert_cli.runs.origin import describe_origin
from bert_cli.runtime.process import PROCESS


def git(*words: str) -> str:
    """Run git in the working directory, without the user's settings, and return its output."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *identity, *words], capture_output=True, text=True, check=True).stdout.strip()


def test_commit_of_a_repository(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    assert "git_commit" not in describe_origin()
    git("init", "--quiet")
    assert "git_commit" not in describe_origin()  # there is no commit yet
    git("commit", "--quiet", "--allow-empty", "--message=a")
    assert describe_origin()["git_commit"] == git("rev-parse", "HEAD")
    assert describe_origin()["host"] == platform.node()


def test_no_commit_without_git(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "git_commit" not in describe_origin()


def test_command_line_can_be_pasted_into_a_shell(monkeypatch):
    monkeypatch.setattr(sys, "argv", [f"bin{os.sep}bert-classify", "--text=a b"])
    monkeypatch.setattr(PROCESS, "is_command", True)
    assert describe_origin()["command_line"] == f"bin{os.sep}bert-classify '--text=a b'"
    monkeypatch.setattr(PROCESS, "is_command", False)
    assert "command_line" not in describe_origin()
