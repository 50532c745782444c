"""Pages in headless Chromium, if it is installed."""

import pathlib
import shutil
import subprocess

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="needs Chromium (Debian's package chromium)")


def browse(address: str, folder: pathlib.Path, *flags: str) -> tuple[str, str]:
    """Return the loaded document and the browser's log.

    Args:
        address: the page's address.
        folder: directory for the browser's files.
        flags: more command-line flags.
    """
    command = [
        BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
        "--enable-logging=stderr", f"--user-data-dir={folder / 'profile'}", *flags, "--dump-dom", address,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr
