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
from tests.docs_pages import GUIDES, TUTORIALS

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
_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")
# Tokens such as [CLS] [SEP] outside code, which mkdocs would read as a link with a name.
_TOKENS = re.compile(r"(?P<code>`+).*?(?P=code)|\] \[", re.DOTALL)


def navigation() -> list[dict]:
    """Return the titles and paths of all pages, as mkdocs.yml has them."""
    tutorials = [{name: f"docs/tutorials/{name}.md"} for name in TUTORIALS]
    tutorials += [{name: f"docs/tutorials/{name}.ipynb"} for name in NOTEBOOKS]
    return [
        {"bert_cli": "README.md"},
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
        text = f"# {name}\n\n" + "\n".join(f"::: {path}\n" for path in classes)
        (source / "api" / f"{name}.md").write_text(text, encoding="utf-8")
    config = {
        "INHERIT": str(ROOT / "mkdocs.yml"),
        "docs_dir": "pages",
        "site_dir": str(ROOT / "build" / "site"),
        "nav": nav,
    }
    (folder / "mkdocs.yml").write_text(json.dumps(config, indent=1), encoding="utf-8")  # JSON is YAML


def _copy(path: str, source: pathlib.Path) -> None:
    (source / path).parent.mkdir(parents=True, exist_ok=True)
    if not path.endswith(".md"):
        shutil.copy(ROOT / path, source / path)
        return
    text = (ROOT / path).read_text(encoding="utf-8")
    (source / path).write_text(
        _TOKENS.sub(lambda match: match[0] if match["code"] else "]&#32;[", text), encoding="utf-8"
    )


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
