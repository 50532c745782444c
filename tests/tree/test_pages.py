"""README and pages: each check reports a change in a copy of the checkout, with its file and line."""

import pytest

from tests import docs_prose
from tests.docs_prose import figures
from tests.house_figures import HOUSE
from tests.tree import pages
from tests.tree.pages import form_of_readme, index, lengths, links, made_files, names_in_pages, pictures

README, DATA = "README.md", "docs/data.md"
PARAGRAPH = "A paragraph here.\n\n"


@pytest.mark.parametrize(
    ("check", "path", "before", "after", "problem"),
    [
        (lengths, DATA, "\n\n", f"\n\nThese words are {'a, ' * 90} many.\n\n", "a paragraph of "),
        (lengths, DATA, "\n\n", "\n\n" + f"One sentence has {'a ' * 30}words. " * 900 + "\n\n", "34 words"),
        (lengths, README, "\n\n", "\n\n" + PARAGRAPH * 300, "words, more than 700"),
        (form_of_readme, README, "\n\n", "\n" * 200, "more than 200 lines"),
        (form_of_readme, README, "\n## Limits", "\n## Bounds", "its headings are"),
        (form_of_readme, README, "](#limits)", "](#python)", "no link at the top leads to Limits"),
        (form_of_readme, README, "make test\n```", "make tests\n```", "the first blocks are"),
        (pictures, README, "docs/images/terminal.svg", "docs/images/no.svg", "terminal.svg is not shown"),
        (pictures, README, "docs/images/badge-ci.svg", "docs/images/no.svg", "there is no docs/images/no.svg"),
        (pictures, "docs/images/terminal.svg", "</svg>", "<script/></svg>", "<script loads something else"),
        (pictures, "docs/images/terminal.svg", "</svg>", " " * 200_000 + "</svg>", "200"),
        (made_files, "docs/images/badge-ci.svg", "quickstart", "start", "run python -m tests.badges"),
        (names_in_pages, README, '".[gpu]"', '".[gpus]"', "setup.py has no extra gpus"),
        (names_in_pages, DATA, "\n\n", "\n\nSEE_TABLE\n\n", "the placeholder SEE_TABLE"),
        (names_in_pages, "CONTRIBUTING.md", "\n\n", "\n\n`heads/no.py`\n\n", "there is no heads/no.py"),
        (links, README, "](docs/data.md#", "](docs/date.md#", "there is no docs/date.md"),
        (links, README, "](docs/faq.md#windows-and-macos)", "](docs/faq.md#windows)", "docs/faq.md has no heading windows"),
        (index, README, "](docs/README.md)", "](docs/faq.md)", "no link leads to docs/README.md"),
        (index, README, "](docs/bert-tag.md)", "](docs/faq.md)", "the table has no row | [`bert-tag`]"),
    ],
)  # fmt: skip
def test_a_change_is_reported(check, path, before, after, problem, changed_tree, monkeypatch):
    # The copy has no code, so its list of rooms is another one.
    monkeypatch.setattr(
        pages.picture, "picture", lambda root: pages.picture.find_block(HOUSE.text("docs/structure.md"))
    )
    checkout = changed_tree(path, before, after)
    problems = set(check(checkout)) - set(check(HOUSE))
    reported = [text for text in problems if problem in text]
    assert reported, problems
    assert checkout.paths(reported[0].partition(":")[0]) != []
    line = int(reported[0].split(":")[1])
    assert 1 <= line <= checkout.text(reported[0].partition(":")[0]).count("\n") + 1


def test_pages_are_in_an_index_and_exist(changed_tree):
    checkout = changed_tree(README, "\n\n", "\n\n")
    (checkout.root / "docs" / "data.md").rename(checkout.root / "docs" / "date.md")
    assert [text.partition(": ")[0] for text in index(checkout)] == ["docs/date.md:1", "docs/data.md:1"]


def test_the_list_of_rooms_is_made_from_the_directories(changed_tree):
    """The copy has no code."""
    checkout = changed_tree(README, "\n\n", "\n\n")
    for module, path in HOUSE.modules.items():
        if module.endswith("__init__"):
            copy = checkout.root / path.relative_to(HOUSE.root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(HOUSE.read(module), encoding="utf-8")
    (problem,) = made_files(checkout)
    assert problem.startswith("docs/structure.md:")


def test_code_tables_and_link_targets_are_not_counted():
    markdown = """# A heading

Two words. And [four words](a/long/target.md) here, `one --flag=x`!

| a table | row |
|---|---|

```sh
a command
```

- An item.
- Another one
  of five words.
"""
    assert docs_prose.paragraphs(markdown) == [
        "Two words. And four words here, code!", "An item.", "Another one of five words.",
    ]  # fmt: skip
    assert docs_prose.sentences("Two words. And four, e.g. here! `code` it.") == [
        "Two words.", "And four, e.g. here!", "`code` it.",
    ]  # fmt: skip
    assert figures(markdown).paragraph_words == 7
    assert figures("One sentence alone.") == docs_prose.PageFigures(3, 3, 3)
