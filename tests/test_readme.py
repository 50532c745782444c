"""What the README, and the pages of docs/ that are written by hand, say of flags and files is so."""

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
from bert_cli.weights import known_models
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


def test_every_flag_that_is_mentioned_exists():
    mentioned = set(re.findall(r"--([a-z][a-z0-9_]+)", EVERYTHING))
    assert len(mentioned) > 10
    assert mentioned - foreign_flags().keys() <= known_flags()


def foreign_flags() -> dict[str, set[str]]:
    """Return the flags of Hugging Face's scripts in docs/coming-from.md, with our flags of their rows."""
    page = PAGES["docs/coming-from.md"]
    rows = re.findall(r"^\| (`--[^|]+) \| ([^|]+) \|$", page[page.index("## Flags of Hugging Face") :], re.MULTILINE)
    name = r"--([a-z0-9_]+)"
    return {flag: set(re.findall(name, ours)) for theirs, ours in rows for flag in re.findall(name, theirs)}


def test_flags_of_hugging_face_lead_to_those_of_the_error():
    """flags/foreign.py has the same advice, whose flags are those of the table's second column."""
    table = foreign_flags()
    assert len(table) > 30
    known = known_flags()
    for flag, ours in table.items():
        assert ours <= known
        if flag not in known:
            advised = {name for advice in ADVICE[flag] for name in advised_flags(advice)}
            assert bool(advised) == bool(advised & ours), flag


def test_the_picture_is_that_of_the_tree():
    """`python tests/picture.py` draws it anew."""
    assert picture.shown(picture.PAGE.read_text(encoding="utf-8")) == picture.picture()


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
    found = {name: (badges.IMAGES / name).read_text(encoding="utf-8") for name in badges.badges()}
    assert found == badges.badges()


def test_terminal_picture_shows_commands_that_exist():
    """`python -m tests.terminal_picture` writes it."""
    text = html.unescape(terminal_picture.PICTURE.read_text(encoding="utf-8")).replace("\u00a0", " ")
    for line in terminal_picture.SHOWN:
        command, *words = shlex.split(line)
        assert parse(docs_pages.settings_of(command), words)
        assert line in README
        assert line in text


def test_extras_that_are_named_exist():
    setup = (ROOT / "setup.py").read_text(encoding="utf-8")
    extras = re.search(r"extras_require=\{(.*?)\n    \},", setup, re.DOTALL)[1]
    known = set(re.findall(r'^ {8}"(\w+)":', extras, re.MULTILINE))
    named = re.findall(r'(?:bert_cli|"\.)\[([\w,]+)\]', EVERYTHING)
    assert {"gpu", "serve"} <= set(named)
    assert {each for names in named for each in names.split(",")} <= known


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_an_entry_point_and_in_the_readme(command):
    module, told = COMMANDS[command]
    assert f'"{command} = bert_cli.{module}:main"' in (ROOT / "setup.py").read_text(encoding="utf-8")
    assert f"| [`{command}`](docs/{command}.md) | {told} |\n" in README


def test_every_command_is_listed():
    """Every module at the top of the package is one of `python -m bert_cli`."""
    modules = {path.stem for path in (ROOT / "bert_cli").glob("*.py") if not path.name.startswith("__")}
    assert modules == {module for module, _ in COMMANDS.values()}


@pytest.mark.parametrize("page", ["docs/structure.md", "CONTRIBUTING.md"])
def test_every_module_that_is_named_is_there(page):
    named = re.findall(r"`(?:bert_cli/)?([a-z_0-9/]+\.py)`", (ROOT / page).read_text(encoding="utf-8"))
    roots = ROOT, ROOT / "bert_cli", ROOT / "bert_cli" / "settings"
    assert len(named) > 10
    assert [name for name in named if not any((root / name).exists() for root in roots)] == []


def test_no_placeholder_is_left():
    assert not re.search(r"\b[A-Z]+_(OUTPUT|TABLE)\b", EVERYTHING)


def test_the_table_of_tasks_is_that_of_the_package():
    """`python -m tests.task_table` prints it."""
    assert task_table.table() in PAGES["docs/tasks.md"]


def test_releases_are_those_that_a_bare_name_is_told_of():
    """known_models.download_advice names them, too."""
    known = {f"{each.day}/{each.archive}" for each in known_models._releases().values()}
    assert len(named := set(re.findall(r"\b(20\d\d_\d\d_\d\d/[\w-]+)\.zip", EVERYTHING))) > 5
    assert named <= known


def test_the_small_models_are_all_listed():
    releases = known_models._releases().values()
    small = {each.archive for each in releases if each.day == known_models.SMALL_DAY}
    assert len(small) == 24
    assert [name for name in sorted(small) if f"`{name}`" not in PAGES["docs/models.md"]] == []


def test_each_command_for_a_published_result_parses():
    """The data and the models are not in the repository; the flags are those of today."""
    named = re.findall(r"`(bert-[a-z]+) (--[^`]+)`", PAGES["docs/published-results.md"])
    assert len(named) >= 10
    for command, flags in named:
        values, _ = parse(docs_pages.settings_of(command), flags.split())
        assert values["do_train"], (command, flags)


def test_every_link_leads_somewhere():
    """In the README and docs/: to a file that is there, and to a heading that it has."""
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
    """What a command of a block reads and what it makes. InputError where its flags are not as they should be."""
    if command not in COMMANDS:
        made = [after for word, after in itertools.pairwise(words) if word in (">", ">>", "-o", "-p")]
        made += ["bert_output" for word in words if word == "quickstart"]
        made += [word.removesuffix(".zip") for word in words if command == "unzip"]
        return [word for word in words if word.startswith("data/")], made
    values, given = parse(docs_pages.settings_of(command), words)
    read = [values[name] for name in READ if name in given and values[name] != RANDOM]
    made = [values[name] for name in WRITTEN if name in given]
    if "output_dir" in values and not values.get("do_train"):
        read, made = read + [values["output_dir"]] * ("output_dir" in given), []
    if command == "bert-report":
        read += values["runs"]
    if command == "bert-prepare":
        read, made = [*read, values["paths"][0]], [*made, values["paths"][1]]
    return [path for path in read if path != "-"], made


def test_each_command_of_the_blocks_parses_and_finds_its_files():
    """What it reads is in the repository, or was made by a command before; what it makes is in bert_output/, but for
    downloads. `make test-all` runs all of them.
    """
    made, count = [], 0
    for block in blocks("sh", "python"):
        commands = block.commands if block.language == "sh" else []
        paths = re.findall(r'load\("([^"]+)"', block.text) if block.language == "python" else []
        for command, *words in commands:
            read, new = files_of(command.removeprefix(".venv/bin/"), words)
            paths, made, count = paths + read, made + new, count + command.startswith("bert-")
            left = [path for path in new if not path.startswith("bert_output") and path != "-"]
            assert block.is_download or left == [], f"{block.place}: {command} writes {left}"
            missing = [
                p for p in paths if not (ROOT / p).exists() and not any(f"{p}/".startswith(f"{m}/") for m in made)
            ]
            assert not missing, f"{block.place}: {command} reads {missing}"
        if block.language == "python":
            assert [path for path in paths if path not in made] == [], block.place
    assert count >= 25
