"""The README's badges: `python -m tests.badges` writes docs/images/badge-*.svg.

Their texts come from setup.py and the CI workflow.
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
_CHARACTER, _MARGIN, _HEIGHT = 6.6, 12, 20  # pixels; the font size is 11
_BADGE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" aria-label="{title}: {text}">
  <title>{title}: {text}</title>
  <rect width="{width}" height="{height}" rx="3" fill="#555"/>
  <path d="M{left} 0h{stem}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{stem}z" fill="#2a7ab0"/>
  <g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
    <text x="{title_x}" y="14">{title}</text>
    <text x="{text_x}" y="14">{text}</text>
  </g>
</svg>
"""


def badge(title: str, text: str) -> str:
    """Return an SVG with a title on the left and a text on the right."""
    left, right = (round(len(label) * _CHARACTER) + _MARGIN for label in (title, text))
    return _BADGE.format(
        title=title, text=text, width=left + right, height=_HEIGHT, left=left, stem=right - 3,
        title_x=left / 2, text_x=left + right / 2,
    )  # fmt: skip


def badges(root: pathlib.Path = ROOT) -> dict[str, str]:
    """Return the SVG texts for a checkout by file name."""
    setup = (root / "setup.py").read_text(encoding="utf-8")
    workflow = (root / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    targets = ", ".join(dict.fromkeys(re.findall(r"run: make (\w+)", workflow)))  # quickstart runs twice
    versions = re.findall(r"Python :: (3\.\d+)", setup)
    return {
        "badge-ci.svg": badge("CI", targets),
        "badge-license.svg": badge("licence", re.search(r'license="([^"]+)"', setup)[1]),
        "badge-python.svg": badge("Python", f"{versions[0]} to {versions[-1]}"),
    }


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for name, text in badges().items():
        (IMAGES / name).write_text(text, encoding="utf-8")
    print(f"wrote {', '.join(badges())} into {IMAGES}")
