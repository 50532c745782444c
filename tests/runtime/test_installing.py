"""bert_cli_light converts and tokenizes, and other work names the distribution that it needs.

tests/commands/test_serve.py has its server.
"""

import re

import pytest

from bert_cli.runtime.installing import how_to_install
from tests.house_figures import HOUSE
from tests.light_environment import make_light_environment, run_light

BUILTIN = "bert_cli/builtin/pretrained"
# Runs several commands in one process: each takes a second to start.
COMMANDS = """
import importlib
for line in {lines!r}:
    module, *words = line
    print("==", importlib.import_module("bert_cli." + module).main(words), flush=True)
"""


@pytest.fixture(scope="module")
def light(tmp_path_factory):
    return make_light_environment(tmp_path_factory.mktemp("light") / "site")


def run_commands(light, folder, *lines):
    """Return the exit code and the finished process."""
    done = run_light(light, COMMANDS.format(lines=lines), folder)
    assert done.returncode == 0, done.stderr
    return [int(code) for code in re.findall(r"^== (\d+)$", done.stdout, re.MULTILINE)], done


def test_commands_without_tensorflow(light, tmp_path):
    builtin = str(HOUSE.root / BUILTIN)
    codes, done = run_commands(
        light, tmp_path,
        ["doctor"],
        ["tokenize_text", "the dog sees"],
        ["convert_checkpoint", f"--from={builtin}", "--to=google/bert_model.ckpt"],
        ["convert_checkpoint", "--from=google/bert_model.ckpt", "--to=hf"],
        ["fill_mask", "the dog [MASK] .", "--init_checkpoint=hf"],
    )  # fmt: skip
    assert codes == [0] * 5, done.stderr
    assert "versions: bert_cli_light " in done.stderr
    assert (
        "extras: not there: hub, openvino, otel; pip install -e './light[hub,openvino,otel]' in the clone"
        in done.stderr
    )
    assert "  933        0  dog" in done.stdout
    assert (tmp_path / "hf" / "vocab.txt").read_bytes() == (HOUSE.root / BUILTIN / "vocab.txt").read_bytes()


def test_other_work_names_the_distribution_that_it_needs(light, tmp_path):
    builtin = str(HOUSE.root / BUILTIN)
    (tmp_path / "t.csv").write_text("text,label\n" + "good,1\nbad,0\n" * 20, encoding="utf-8")
    codes, done = run_commands(
        light, tmp_path,
        ["run_classifier", "--do_train", "--train_file=t.csv", "--output_dir=out"],
        ["convert_checkpoint", f"--from={builtin}", "--to=m.weights.h5"],
        ["convert_checkpoint", f"--from={builtin}", "--to=hf", "--check"],
        ["export_model", f"--init_checkpoint={builtin}", "--export_dir=export"],
    )  # fmt: skip
    assert codes == [1] * 4, done.stderr
    replace = "pip uninstall bert_cli_light, then pip install -e '.' in the clone"
    errors = [line for line in done.stderr.splitlines() if ": error: " in line]
    advice = f"tensorflow is needed, which bert_cli_light leaves out: {replace}"
    assert [line.partition(": error: ")[2] for line in errors] == [advice] * 4
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "out") == ["t.csv"]


def test_both_distributions_are_an_error(light, tmp_path):
    """Each would overwrite the other one's files, and remove them with itself."""
    about = tmp_path / "bert_cli-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: bert_cli\nVersion: 0.1.0\n", encoding="utf-8")
    codes, done = run_commands(light, tmp_path, ["doctor"])
    assert codes == [1]
    assert done.stderr.splitlines()[-1].endswith(
        "bert_cli and bert_cli_light are both installed, and have the same files: pip uninstall bert_cli bert_cli_light, "
        "then install one"
    )


def test_the_clone_installs_extras():
    assert how_to_install("serve") == "pip install -e '.[serve]' in the clone"
    assert how_to_install() == "pip install -e '.' in the clone"
