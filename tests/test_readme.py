"""The README and the handwritten pages of docs/ are right about flags, files and commands."""

import html
import itertools
import re
import shlex

from bert_cli.__main__ import COMMANDS
from bert_cli.base.errors import mentioned_flags
from bert_cli.base.names import RANDOM
from bert_cli.flags.foreign.advice import advice_by_flag
from bert_cli.flags.option import every_flag
from bert_cli.flags.parser import parse
from bert_cli.weights import advice
from tests import docs_pages, task_table, terminal_picture
from tests.readme_blocks import EVERYTHING, PAGES, README, ROOT, blocks

READ = (
    "init_checkpoint", "hub_module", "from", "vocab_file", "bert_config_file", "data_dir", "input_file", "train_file",
    "dev_file", "test_file", "predict_file",
)  # fmt: skip
WRITTEN = ("output_dir", "output_file", "export_dir", "to")


def known_flags() -> set[str]:
    names = {"flagfile", "help", "helpfull", "completion", "from_command", "name"}  # the last one is in "--name=value"
    names |= {"no"}  # pip's --no-index
    names |= {"logdir", "preload", "rounds", "rows", "only"}  # flags of TensorBoard, gunicorn and our benchmarks
    names |= {"data", "peer_python", "grid", "flags"}  # flags of benchmarks.time_to_score
    for command in COMMANDS:
        names |= {flag.name for flag in every_flag(docs_pages.settings_of(command))}
    return names


def test_every_flag_in_pages_exists():
    mentioned = set(re.findall(r"--([a-z][a-z0-9_]+)", EVERYTHING))
    assert len(mentioned) > 10
    foreign = {name.removeprefix("launcher/") for name in advice_by_flag()}
    assert mentioned - foreign <= known_flags()


def foreign_flags() -> dict[str, set[str]]:
    """Return Hugging Face's flags in docs/coming-from.md, each with our flags in the same row."""
    page = PAGES["docs/coming-from.md"]
    rows = re.findall(r"^\| (`--[^|]+) \| ([^|]+) \|$", page[page.index("## Flags of Hugging Face") :], re.MULTILINE)
    name = r"--([a-z0-9_]+)"
    return {flag: set(re.findall(name, ours)) for theirs, ours in rows for flag in re.findall(name, theirs)}


def test_advice_in_the_table_equals_advice_in_errors():
    """flags/foreign/flags.tsv gives the same advice as the table's second column."""
    table = foreign_flags()
    assert len(table) > 30
    our_flags = known_flags()
    for flag, ours in table.items():
        assert ours <= our_flags
        if flag not in our_flags:
            advised = {name for row in advice_by_flag()[flag] for name in mentioned_flags(row.text)}
            assert bool(advised) == bool(advised & ours), flag


def test_terminal_picture_shows_commands_that_exist():
    """`python -m tests.terminal_picture` writes it."""
    text = html.unescape(terminal_picture.PICTURE.read_text(encoding="utf-8")).replace("\u00a0", " ")
    for line in terminal_picture.SHOWN:
        command, *words = shlex.split(line)
        assert parse(docs_pages.settings_of(command), words)
        assert line in README
        assert line in text


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
