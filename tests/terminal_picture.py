"""The README's picture of a terminal, docs/images/terminal.svg: `python -m tests.terminal_picture`.

It runs commands in a temporary directory and shows their output in a terminal with _WIDTH columns.
"""

import io
import os
import pathlib
import pty
import re
import shlex
import subprocess
import sys
import tempfile

from rich.console import Console
from rich.text import Text

from bert_cli.__main__ import COMMANDS

ROOT = pathlib.Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "terminal.svg"
SHOWN = (
    "bert-classify --train_file=data/reviews.csv --dev_split=0.1 --do_train --do_eval --output_dir=bert_output/reviews",
    'bert-classify --output_dir=bert_output/reviews --explain "The film was awful, but the music is lovely."',
)
_WIDTH = 118
_LEFT_OUT = re.compile(r"\*\*\* Example \*\*\*\n.*?(?=^devices)", re.DOTALL | re.MULTILINE)
# The line that replaces a progress bar at its end; the picture keeps the bar.
_REPLACED = re.compile(r"\r\x1b\[1A\x1b\[2K[^\n]*\n")
_OVERWRITTEN = re.compile(r"^[^\n]*\r(?!\n)", re.MULTILINE)
_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-HJKhl]")  # all escape sequences except colors
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # fonts from the network, which an image cannot load


def terminal_output(line: str, folder: pathlib.Path) -> str:
    """Return a command's output on a terminal, with colors.

    Args:
        line: the command line.
        folder: working directory.
    """
    command, *words = shlex.split(line)
    script = [sys.executable, "-m", f"bert_cli.{COMMANDS[command][0]}", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": str(_WIDTH), "TERM": "xterm-256color"}
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        script, cwd=folder, env=environment, stdin=terminal, stdout=terminal, stderr=terminal
    ) as process:
        os.close(terminal)
        chunks = []
        while True:
            try:
                chunk = os.read(controller, 65536)
            except OSError:  # on Linux, the other end is closed
                break
            if not chunk:
                break
            chunks.append(chunk)
    os.close(controller)
    text = b"".join(chunks).decode("utf-8")
    if process.returncode:
        raise SystemExit(text)
    return text


def shorten(text: str) -> str:
    """Remove long examples, and all states of a progress bar except the last."""
    text = _CONTROLS.sub("", _REPLACED.sub("", text)).replace("\r\n", "\n")
    return _LEFT_OUT.sub("…\n", _OVERWRITTEN.sub("", text))


def picture(transcript: list[tuple[str, str]]) -> str:
    """Return an SVG of command lines and their outputs."""
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True)
    for line, text in transcript:
        console.print(Text("$ ", "bold green") + Text(line, "bold"), no_wrap=True, overflow="ignore", crop=False)
        console.print(Text.from_ansi(text.rstrip()), highlight=False)
        console.print()
    return _FONTS.sub("", console.export_svg(title="bert_cli", unique_id="terminal"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "data").symlink_to(ROOT / "data")
        transcript = [(line, shorten(terminal_output(line, folder)).replace(f"{folder}/", "")) for line in SHOWN]
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(transcript), encoding="utf-8")
    print(f"wrote {PICTURE}: {PICTURE.stat().st_size} bytes")
