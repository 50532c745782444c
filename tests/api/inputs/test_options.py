"""Type checkers accept the documentation's programs, and find misspelt options."""

import pathlib
import re
import subprocess
import sys

import pytest

from tests.readme_blocks import PAGES, blocks

ROOT = pathlib.Path(__file__).resolve().parents[3]
RIGHT = """
import pathlib
from bert_cli import Classifier, FeatureExtractor, Tagger
folder = pathlib.Path("run")
classifier = Classifier.fit(
    ["a"], ["b"], num_train_epochs=2, learning_rate=[1e-4, 2e-4], dev_split=0.2, class_weights={"a": 2.0},
    init_checkpoint=folder, optimizer="lamb", output_dir=folder,
)
print(classifier.report["eval"]["eval_accuracy"], classifier.predict("a").label, classifier.predict(["a"]).best)
vectors = FeatureExtractor.load(folder).extract(["a"])
print(vectors.shape, (vectors @ vectors.T).sum())
print(FeatureExtractor.load(pooling="none").extract(["a"])[0].tokens)
Classifier.train("train.csv", labels=["a", "b"])
print(Classifier.fit(["a"], ["b"], cross_validation=5).metrics)
Tagger.train([(["a"], ["O"])], label_all_pieces=True)
"""
WRONG = {
    'Classifier.fit(["a"], ["b"], num_train_epoch=1)': "num_train_epochs",
    'Classifier.fit(["a"], ["b"], learning_rate="fast")': "learning_rate",
    'Classifier.fit(["a"], ["b"], optimizer="sgd")': "optimizer",
    'Classifier.train("a.csv", doc_stride=3)': "doc_stride",
    'Tagger.train("a.txt", task_name="cola")': "task_name",
    'Classifier.load(3)': "load",
    'Classifier.load("run").predict("a").best': "best",
}  # fmt: skip


def check(folder: pathlib.Path, programs: dict[str, str]) -> str:
    """Return mypy's output for programs, by file name."""
    for name, text in programs.items():
        (folder / name).write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        f"--config-file={ROOT / 'pyproject.toml'}",
        "--hide-error-context",
        "--allow-untyped-defs",
    ]
    paths = [str(folder / name) for name in programs]
    return subprocess.run([*command, *paths], capture_output=True, text=True, check=False, cwd=ROOT).stdout


@pytest.mark.slow
def test_programs_of_the_documentation_have_right_types(tmp_path):
    pages = {"docs/python.md": PAGES["docs/python.md"]}
    programs = {f"block_{number}.py": block.text for number, block in enumerate(blocks("python", pages=pages))}
    assert len(programs) > 9
    output = check(tmp_path, programs | {"right.py": RIGHT})
    assert re.fullmatch(r"Success: no issues found in \d+ source files\n", output), output


@pytest.mark.slow
def test_wrong_calls_are_found(tmp_path):
    lines = ["from bert_cli import Classifier, Tagger", *WRONG]
    output = check(tmp_path, {"wrong.py": "\n".join(lines)})
    errors = {int(line.split(":")[1]): line for line in output.splitlines() if ": error: " in line}
    assert errors.keys() == set(range(2, 2 + len(WRONG)))
    assert all(name in output for name in WRONG.values())
