"""Makefile, continuous integration and setup.py: each check reports a change in a copy of the checkout."""

import pytest

from tests.tree.build import (
    CI,
    WORKFLOW,
    actions,
    entry_points,
    install_advice,
    is_shipped,
    shipped_files,
    targets_of_ci,
    targets_of_make,
)

DATA = {"": ["py.typed"], "bert_cli.builtin": ["vocab.txt", "pretrained/*"]}


@pytest.mark.parametrize(
    ("check", "path", "before", "after", "problem"),
    [
        (targets_of_ci, WORKFLOW, "run: make test", "run: make test-all", f"{WORKFLOW}:"),
        (targets_of_ci, WORKFLOW, "run: make test", "run: pytest", f"{WORKFLOW}:"),
        (targets_of_ci, CI, "make lint", "make lints", f"{CI}:5: the Makefile has no target lints"),
        (actions, WORKFLOW, "@34e114876b0b11c390a56381ad16ebd13914f8d5", "@v4", "actions/checkout@v4 may change"),
        (targets_of_make, "Makefile", ".PHONY: help", ".PHONY: help mend", "Makefile:1: no test runs mend"),
        (targets_of_make, "Makefile", ".PHONY: help", ".PHONY:", "the Makefile has no target help"),
        (entry_points, "setup.py", "bert_cli.serve:main", "bert_cli.served:main", '.serve:main" is missing'),
        (entry_points, "setup.py", '"bert-serve =', '"more = more:main", "bert-serve =', "more entry points"),
    ],
)  # fmt: skip
def test_a_change_is_reported(check, path, before, after, problem, changed_tree):
    messages = list(check(changed_tree(path, before, after)))
    assert [message for message in messages if problem in message], messages


def test_modules_at_the_top_are_commands(changed_tree, write_tree):
    changed_tree("README.md", "\n", "\n")
    checkout = write_tree({"bert_cli/serve.py": "", "bert_cli/__main__.py": "", "bert_cli/more.py": ""})
    (problem,) = entry_points(checkout)
    assert problem.startswith("bert_cli/more.py:1: no command")


def test_one_module_words_how_to_install(write_tree):
    advice = "raise InputError(\"pip install 'bert_cli[serve]'\")\n"
    checkout = write_tree({"bert_cli/a.py": f"\n{advice}", "bert_cli/b.py": 'raise InputError("pip install spacy")\n'})
    (problem,) = install_advice(checkout)
    assert problem.startswith("bert_cli/a.py:2: a way to install the package")


def test_files_need_a_pattern(write_tree):
    setup = f"setup(package_data={DATA!r})"
    files = ["__init__.py", "a.py", "py.typed", "module.so", "builtin/__init__.py", "builtin/vocab.txt"]
    files += ["builtin/pretrained/model", "builtin/more/vocab.txt"]
    checkout = write_tree({"setup.py": setup} | {f"bert_cli/{name}": "" for name in files})
    paths = [message.partition(":")[0] for message in shipped_files(checkout)]
    assert paths == ["bert_cli/builtin/more/vocab.txt", "bert_cli/module.so"]
    assert is_shipped("bert_cli/a.py", {}, checkout.root)
