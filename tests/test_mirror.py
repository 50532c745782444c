"""A module and its test have the same path below bert_cli/ and tests/; what has no test of its own is named here, with the
file that tests it.

A test of text/tokenization.py is tests/text/test_tokenization.py; where one file would be too long or has a topic of its own,
the topic stands behind the name: test_tokenization_golden.py. Commands are tested in tests/commands/, as they are called.
"""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Rooms of tests that mirror no room of the package: whole commands, and the independent re-statements that tests compare with.
OWN_ROOMS = {"commands", "reference"}
# Module -> the file that tests it by what commands or its users make of it, because it is a declaration, or a step whose parts
# have tests and whose order shows in the whole only.
TESTED_END_TO_END: dict[str, str] = {}


def modules() -> set[str]:
    """Paths below bert_cli/ of all modules but commands, and what explains a folder."""
    paths = (path.relative_to(ROOT / "bert_cli") for path in (ROOT / "bert_cli").rglob("*.py"))
    return {path.as_posix() for path in paths if len(path.parts) > 1 and not path.name.startswith("__")}


def files_of_tests() -> set[str]:
    """Paths below tests/ of all tests of rooms; those at the top are of the repository: its pages, samples and Makefile."""
    paths = (path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py"))
    return {path.as_posix() for path in paths if len(path.parts) > 1 and path.parts[0] not in OWN_ROOMS}


def module_of(test: str) -> str | None:
    """The module that a test belongs to by its path: of the longest name, so that test_a_b.py is of a_b.py before a.py."""
    folder, _, name = test.rpartition("/")
    words = name.removeprefix("test_").removesuffix(".py").split("_")
    names = (f"{folder}/{'_'.join(words[:end])}.py" for end in range(len(words), 0, -1))
    return next((name for name in names if name in modules()), None)


def test_every_test_has_its_module():
    assert [test for test in sorted(files_of_tests()) if module_of(test) is None] == []


def test_every_module_has_its_test_or_is_named():
    own = {module_of(test) for test in files_of_tests()}
    assert sorted(modules() - own - set(TESTED_END_TO_END)) == []


def test_what_is_named_is_there_and_has_no_test_of_its_own():
    assert sorted(set(TESTED_END_TO_END) - modules()) == []
    assert sorted(set(TESTED_END_TO_END) & {module_of(test) for test in files_of_tests()}) == []


def test_the_files_that_test_it_are_there():
    assert [file for file in sorted(set(TESTED_END_TO_END.values())) if not (ROOT / "tests" / file).is_file()] == []


def test_a_topic_belongs_to_the_longest_name():
    assert module_of("text/test_tokenization_golden.py") == "text/tokenization.py"
    assert module_of("text/test_tokenizer_json.py") == "text/tokenizer_json.py"
    assert module_of("text/test_nothing.py") is None
