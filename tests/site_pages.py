"""Sources for the documentation site: `python -m tests.site_pages build/site_source` copies the pages, for `make site`.

Pages keep their paths in the repository, so their links work as they do on GitHub. Linked files are copied, too. Pages
about the Python API are made here, and mkdocstrings fills them with docstrings.
"""

import json
import pathlib
import re
import shutil
import sys

import bert_cli
from bert_cli.__main__ import COMMANDS
from tests.written_pages import GUIDES, TUTORIALS

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Title in the navigation -> page that is not in docs/.
OTHERS = {
    "deploy": "deploy/README.md",
    "bert_cli_light": "light/README.md",
    "built-in model": "bert_cli/builtin/pretrained/README.md",
    "benchmarks": "benchmarks/README.md",
    "changes": "CHANGELOG.md",
    "contributing": "CONTRIBUTING.md",
    "security": "SECURITY.md",
}
NOTEBOOKS = ("lecture", "notebook")
# API page -> its classes.
CLASSES = {
    **{name: [f"{module}.{name}"] for name, module in sorted(bert_cli._API.items())},
    "keras": ["bert_cli.keras.Encoder", "bert_cli.keras.Preprocessor"],
    "sklearn": [f"bert_cli.sklearn.{name}" for name in ("BertClassifier", "BertRegressor", "BertVectorizer")],
}
STYLE = """\
/* Space for tables of flags. */
@media (min-width: 76.25em) { .md-grid { max-width: 70rem; } }
/* A wide table scrolls, so that names and flags are not cut anywhere. */
.md-typeset code { word-break: normal; overflow-wrap: break-word; }
.md-typeset .flag { white-space: nowrap; }
.md-typeset table:not([class]) th { min-width: 0; }
"""
_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")
# Code, and tokens outside code.
_TOKENS = re.compile(r"(?P<ticks>`+)(?P<code>.*?)(?P=ticks)|\] \[", re.DOTALL)
# A page that a notebook links to.
_PAGE = re.compile(r"(\]\([^)#:\s]+)\.(?:md|ipynb)\b")


def navigation() -> list[dict]:
    """Return the titles and paths of all pages, as mkdocs.yml has them."""
    tutorials = [{name: f"docs/tutorials/{name}.md"} for name in TUTORIALS]
    tutorials += [{name: f"docs/tutorials/{name}.ipynb"} for name in NOTEBOOKS]
    return [
        {"Home": "README.md"},
        {"Guides": ["docs/README.md", *({name: f"docs/{name}.md"} for name in GUIDES)]},
        {"Tutorials": tutorials},
        {"Commands": [{name: f"docs/{name}.md"} for name in COMMANDS] + [{"all flags": "docs/flags.md"}]},
        {"Python API": [{name: f"api/{name}.md"} for name in CLASSES]},
        {"More": [{title: path} for title, path in OTHERS.items()]},
    ]


def pages(entries: list) -> list[str]:
    """Return the paths in a navigation."""
    paths: list[str] = []
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else (entry,):
            paths += pages(value) if isinstance(value, list) else [value]
    return paths


def write_sources(folder: pathlib.Path) -> None:
    """Write the pages, the files that they link to, and mkdocs.yml with the navigation into a new directory."""
    shutil.rmtree(folder, ignore_errors=True)
    source = folder / "pages"
    nav = navigation()
    for path in pages(nav):
        if not path.startswith("api/"):
            _copy(path, source)
            _copy_linked(path, source)
    (source / "api").mkdir()
    for name, classes in CLASSES.items():
        module = f"bert_cli.{name}" if name in ("keras", "sklearn") else "bert_cli"
        names = ", ".join(path.rpartition(".")[2] for path in classes)
        text = f"# {name}\n\n```python\nfrom {module} import {names}\n```\n\n" + "\n".join(
            f"::: {path}\n" for path in classes
        )
        (source / "api" / f"{name}.md").write_text(text, encoding="utf-8")
    (source / "site.css").write_text(STYLE, encoding="utf-8")
    config = {
        "INHERIT": str(ROOT / "mkdocs.yml"),
        "hooks": [str(ROOT / "tests" / "site_hooks.py")],
        "extra_css": ["site.css"],
        "exclude_docs": "!/.github/",  # mkdocs leaves out hidden files, and the README links to one
        "docs_dir": "pages",
        "site_dir": str(ROOT / "build" / "site"),
        "nav": nav,
    }
    (folder / "mkdocs.yml").write_text(json.dumps(config, indent=1), encoding="utf-8")  # JSON is YAML


def _copy(path: str, source: pathlib.Path) -> None:
    (source / path).parent.mkdir(parents=True, exist_ok=True)
    if path.endswith(".md"):
        text = _TOKENS.sub(_repair, (ROOT / path).read_text(encoding="utf-8"))
    elif path.endswith(".ipynb"):
        # mkdocs turns links between pages into links to HTML, but not those in notebooks.
        text = _PAGE.sub(r"\1.html", (ROOT / path).read_text(encoding="utf-8"))
    else:
        shutil.copy(ROOT / path, source / path)
        return
    (source / path).write_text(text, encoding="utf-8")


def _repair(match: re.Match) -> str:
    """Return Markdown that mkdocs shows as GitHub does.

    mkdocs would read tokens such as [CLS] [SEP] outside code as a link with a name. In a table's code it
    shows the backslash before a pipe.
    """
    if not match["ticks"]:
        return "]&#32;["
    return match[0].replace("\\|", "|") if match["ticks"] == "`" else match[0]


def links(page: pathlib.Path) -> list[str]:
    """Return the files that a page links to; links to other hosts and anchors are left out."""
    return _LINK.findall(page.read_text(encoding="utf-8"))


def _copy_linked(path: str, source: pathlib.Path) -> None:
    """Copy files that a page links to, and that are no pages."""
    for link in links(ROOT / path):
        target = (ROOT / path).parent.joinpath(link).resolve()
        if target.is_file() and target.suffix not in (".md", ".ipynb") and target.is_relative_to(ROOT):
            _copy(target.relative_to(ROOT).as_posix(), source)


if __name__ == "__main__":
    write_sources(pathlib.Path(sys.argv[1]))
