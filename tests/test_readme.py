"""The README and the handwritten pages of docs/ are right about flags, files and commands."""

import html
import itertools
import re
import shlex

import pytest

from bert_cli.__main__ import COMMANDS
from bert_cli.base.names import RANDOM
from bert_cli.flags.foreign import ADVICE, advised_flags
from bert_cli.flags.option import every_flag
from bert_cli.flags.parser import parse
from bert_cli.weights import advice
from tests import badges, docs_pages, picture, task_table, terminal_picture
from tests.readme_blocks import EVERYTHING, PAGES, README, ROOT, TUTORIALS, blocks

READ = (
    "init_checkpoint", "hub_module", "from", "vocab_file", "bert_config_file", "data_dir", "input_file", "train_file",
    "dev_file", "test_file", "predict_file",
)  # fmt: skip
WRITTEN = ("output_dir", "output_file", "export_dir", "to")


def known_flags() -> set[str]:
    names = {"flagfile", "help", "helpfull", "completion", "name"}  # the last one is in "--name=value"
    names |= {"logdir", "preload", "rounds", "only"}  # flags of TensorBoard, gunicorn and our benchmarks
    for command in COMMANDS:
        names |= {flag.name for flag in every_flag(docs_pages.settings_of(command))}
    return names


def test_every_flag_in_pages_exists():
    mentioned = set(re.findall(r"--([a-z][a-z0-9_]+)", EVERYTHING))
    assert len(mentioned) > 10
    assert mentioned - foreign_flags().keys() <= known_flags()


def foreign_flags() -> dict[str, set[str]]:
    """Return Hugging Face's flags in docs/coming-from.md, each with our flags in the same row."""
    page = PAGES["docs/coming-from.md"]
    rows = re.findall(r"^\| (`--[^|]+) \| ([^|]+) \|$", page[page.index("## Flags of Hugging Face") :], re.MULTILINE)
    name = r"--([a-z0-9_]+)"
    return {flag: set(re.findall(name, ours)) for theirs, ours in rows for flag in re.findall(name, theirs)}


def test_advice_in_the_table_equals_advice_in_errors():
    """flags/foreign.py gives the same advice as the table's second column."""
    table = foreign_flags()
    assert len(table) > 30
    our_flags = known_flags()
    for flag, ours in table.items():
        assert ours <= our_flags
        if flag not in our_flags:
            advised = {name for advice in ADVICE[flag] for name in advised_flags(advice)}
            assert bool(advised) == bool(advised & ours), flag


def test_the_list_of_rooms_is_current():
    """`python tests/picture.py` writes it."""
    assert picture.find_block(picture.PAGE.read_text(encoding="utf-8")) == picture.picture()


def test_readme_is_short_and_in_order():
    assert README.count("\n") <= 200
    assert re.findall(r"^## (.+)$", README, re.MULTILINE) == [
        "Quickstart", "Your own CSV", "One text, and a server", "Python", "Commands", "Get a model", "Limits",
        "License and citation",
    ]  # fmt: skip
    first = README.index("## Quickstart")
    for heading in re.findall(r"^## (.+)$", README, re.MULTILINE)[:-1]:
        anchor = re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")
        assert f"](#{anchor})" in README[:first], heading


def test_quickstart_is_two_commands():
    """CI runs the second one."""
    quickstart = [block.text for block in blocks("sh") if block.place.startswith("README.md")][:2]
    assert quickstart == ["make quickstart\n", "make test\n"]


def test_readme_pictures_are_small_and_self_contained():
    named = re.findall(r"!\[[^]]*\]\(([^)]+)\)", README)
    assert {"docs/images/terminal.svg", "docs/report.png"} < set(named)
    for path in (ROOT / name for name in named):
        assert path.stat().st_size < 200_000, path
        if path.suffix == ".svg":
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"@font-face|@import|href=|<script|url\((?!#)", text), path


def test_badges_are_current():
    """`python -m tests.badges` writes them."""
    texts = {name: (badges.IMAGES / name).read_text(encoding="utf-8") for name in badges.badges()}
    assert texts == badges.badges()


def test_terminal_picture_shows_commands_that_exist():
    """`python -m tests.terminal_picture` writes it."""
    text = html.unescape(terminal_picture.PICTURE.read_text(encoding="utf-8")).replace("\u00a0", " ")
    for line in terminal_picture.SHOWN:
        command, *words = shlex.split(line)
        assert parse(docs_pages.settings_of(command), words)
        assert line in README
        assert line in text


def test_extras_in_pages_exist():
    setup = (ROOT / "setup.py").read_text(encoding="utf-8")
    extras = re.search(r"extras_require=\{(.*?)\n    \},", setup, re.DOTALL)[1]
    extra_names = set(re.findall(r'^ {8}"(\w+)":', extras, re.MULTILINE))
    named = re.findall(r'(?:bert_cli|"\.)\[([\w,]+)\]', EVERYTHING)
    assert {"gpu", "serve"} <= set(named)
    assert {extra for names in named for extra in names.split(",")} <= extra_names


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_an_entry_point_and_in_the_readme(command):
    module, description = COMMANDS[command]
    assert f'"{command} = bert_cli.{module}:main"' in (ROOT / "setup.py").read_text(encoding="utf-8")
    assert f"| [`{command}`](docs/{command}.md) | {description} |\n" in README


def test_every_command_is_listed():
    """Every module at the top of the package is listed by `python -m bert_cli`."""
    modules = {path.stem for path in (ROOT / "bert_cli").glob("*.py") if not path.name.startswith("__")}
    assert modules == {module for module, _ in COMMANDS.values()}


@pytest.mark.parametrize("page", ["docs/structure.md", "CONTRIBUTING.md"])
def test_modules_in_pages_exist(page):
    named = re.findall(r"`(?:bert_cli/)?([a-z_0-9/]+\.py)`", (ROOT / page).read_text(encoding="utf-8"))
    roots = ROOT, ROOT / "bert_cli", ROOT / "bert_cli" / "settings"
    assert len(named) > 10
    assert [name for name in named if not any((root / name).exists() for root in roots)] == []


def test_no_placeholders_are_left():
    assert not re.search(r"\b[A-Z]+_(OUTPUT|TABLE)\b", EVERYTHING)


def test_the_table_of_tasks_is_current():
    """`python -m tests.task_table` prints it."""
    assert task_table.table() in PAGES["docs/tasks.md"]


def test_releases_in_pages_are_known():
    """weights/advice.py names them too."""
    known_releases = {f"{release.day}/{release.archive}" for release in advice._releases().values()}
    assert len(named := set(re.findall(r"\b(20\d\d_\d\d_\d\d/[\w-]+)\.zip", EVERYTHING))) > 5
    assert named <= known_releases


def test_all_small_models_are_listed():
    releases = advice._releases().values()
    small = {release.archive for release in releases if release.day == advice.SMALL_DAY}
    assert len(small) == 24
    assert [name for name in sorted(small) if f"`{name}`" not in PAGES["docs/models.md"]] == []


def test_each_command_for_a_published_result_parses():
    """Data and models are not in the repository, but the flags must exist."""
    named = re.findall(r"`(bert-[a-z]+) (--[^`]+)`", PAGES["docs/published-results.md"])
    assert len(named) >= 10
    for command, flags in named:
        values, _ = parse(docs_pages.settings_of(command), flags.split())
        assert values["do_train"], (command, flags)


def test_every_link_has_a_target():
    """Links in README and docs/ lead to an existing file and heading."""
    printed = {f"docs/{name}": text for name, text in docs_pages.pages().items()}
    for name, page in (PAGES | TUTORIALS | printed).items():
        for target, _, heading in re.findall(r"\]\(([^)#:]*)(#([\w-]+))?\)", page):
            path = (ROOT / name).parent / target if target else ROOT / name
            assert path.exists(), f"{name}: {target}"
            headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE) if heading else []
            assert not heading or heading in map(docs_pages.anchor_of, headings), f"{name}: {target}#{heading}"


def test_every_page_is_in_the_index():
    """The README links to the index, which lists all pages and is printed from GUIDES, TUTORIALS and COMMANDS."""
    guides = {f"{guide}.md" for guide in docs_pages.GUIDES}
    assert {path.name for path in (ROOT / "docs").glob("*.md")} == set(docs_pages.pages()) | guides
    assert {path.stem for path in (ROOT / "docs" / "tutorials").glob("*.md")} == set(docs_pages.TUTORIALS)
    assert "](docs/README.md)" in README


def files_of(command: str, words: list[str]) -> tuple[list[str], list[str]]:
    """Return the files that a command reads and the files that it writes.

    Args:
        command: the program.
        words: its arguments.

    Raises:
        InputError: if a flag is wrong.
    """
    if command not in COMMANDS:
        written = [after for word, after in itertools.pairwise(words) if word in (">", ">>", "-o", "-p")]
        written += ["bert_output" for word in words if word == "quickstart"]
        written += [word.removesuffix(".zip") for word in words if command == "unzip"]
        return [word for word in words if word.startswith("data/")], written
    values, given_names = parse(docs_pages.settings_of(command), words)
    read = [values[name] for name in READ if name in given_names and values[name] != RANDOM]
    written = [values[name] for name in WRITTEN if name in given_names]
    if "output_dir" in values and not values.get("do_train"):
        read, written = read + [values["output_dir"]] * ("output_dir" in given_names), []
    if command == "bert-report":
        read += values["runs"]
    if command == "bert-prepare":
        read, written = [*read, values["paths"][0]], [*written, values["paths"][1]]
    return [path for path in read if path != "-"], written


def test_each_command_in_a_block_parses_and_its_files_exist():
    """Commands read files that are in the repository or were written by earlier commands.

    They write to bert_output/; downloads may write elsewhere. `make test-all` runs all blocks.
    """
    written, count = [], 0
    for block in blocks("sh", "python"):
        commands = block.commands if block.language == "sh" else []
        paths = re.findall(r'load\("([^"]+)"', block.text) if block.language == "python" else []
        for command, *words in commands:
            read, new_files = files_of(command.removeprefix(".venv/bin/"), words)
            paths, written, count = paths + read, written + new_files, count + command.startswith("bert-")
            outside = [path for path in new_files if not path.startswith("bert_output") and path != "-"]
            assert block.is_download or outside == [], f"{block.place}: {command} writes {outside}"
            missing = [
                p for p in paths if not (ROOT / p).exists() and not any(f"{p}/".startswith(f"{m}/") for m in written)
            ]
            assert not missing, f"{block.place}: {command} reads {missing}"
        if block.language == "python":
            written += re.findall(r'(?:\boutput_dir=|\.save\()"([^"]+)"', block.text)
            assert [path for path in paths if path not in written] == [], block.place
    assert count >= 25
