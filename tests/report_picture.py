"""The README's picture of a report, docs/report.png: `python -m tests.report_picture bert_output`.

It shows two parts of the run's page side by side: the top, and evaluation cards. It needs Chromium.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[1]
_WIDTH, _HEIGHT, _SCALE, _COLOURS = 1000, 870, 0.62, 160
_HIDDEN = "header, section:not(#evaluation), #card-classes, #card-mistakes"  # hidden in the second part
_PARTS = ("", f"<style>{_HIDDEN} {{ display: none !important }}</style>")


def shot(page: pathlib.Path, folder: pathlib.Path) -> Image.Image:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    target = folder / f"{page.stem}.png"
    subprocess.run(
        [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--screenshot={target}",
         f"--user-data-dir={folder / 'profile'}", f"--window-size={_WIDTH},{_HEIGHT}", page.as_uri()],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    return Image.open(target).convert("RGB")


def picture(report: pathlib.Path) -> Image.Image:
    """Return both parts as a single picture with few colors."""
    text = report.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shots = []
        for number, style in enumerate(_PARTS):
            page = folder / f"part{number}.html"
            page.write_text(re.sub("</head>", f"{style}</head>", text, count=1), encoding="utf-8")
            shots.append(shot(page, folder))
    both = Image.new("RGB", (2 * _WIDTH, _HEIGHT))
    for number, screenshot in enumerate(shots):
        both.paste(screenshot.crop((0, 0, _WIDTH, _HEIGHT)), (number * _WIDTH, 0))
    size = (round(2 * _WIDTH * _SCALE), round(_HEIGHT * _SCALE))
    return both.resize(size, Image.Resampling.LANCZOS).quantize(_COLOURS, Image.Quantize.FASTOCTREE)


if __name__ == "__main__":
    path = ROOT / "docs" / "report.png"
    picture(pathlib.Path(sys.argv[1]) / "report.html").save(path, optimize=True)
    print(f"wrote {path}: {path.stat().st_size} bytes")
