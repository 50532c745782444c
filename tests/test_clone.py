"""In a copy of the repository, run every code block of README and docs/, and every target of make.

Downloads are replaced by small random models with the same layout.
"""

import pathlib
import shutil
import tarfile

import pytest

from tests.clone import TARGETS, copy_repository, run
from tests.commands.convert_run import convert, make_source
from tests.readme_blocks import blocks, mismatch

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]  # takes minutes
# Blocks of text in these pages show the output of the block before.
PAGES_WITH_OUTPUTS = ("docs/python.md",)
# This would run these tests again.
SKIPPED = ("make test",)


def make_downloads(folder: pathlib.Path) -> None:
    """Make small models in place of the files that download blocks fetch."""
    sizes = {"max_position_embeddings": 512, "num_hidden_layers": 4, "num_attention_heads": 4}
    vocabulary = folder / "bert_cli" / "builtin" / "pretrained" / "vocab.txt"
    sizes |= {"tokens": vocabulary.read_text(encoding="utf-8").split()}
    google, _ = make_source(folder, ("masked_lm", "next_sentence"), name="uncased_L-12_H-768_A-12", **sizes)
    plain, _ = make_source(folder, (), name="plain", gelu="erf", **sizes)
    convert(plain, folder / "all-MiniLM-L6-v2")
    convert(google, folder / "module", to_format="hub")
    with tarfile.open(folder / "bert_en_uncased_L-12_H-768_A-12.tar.gz", "w:gz") as archive:
        archive.add(folder / "module", arcname=".")
    for name in ("plain", "module"):
        shutil.rmtree(folder / name)


def test_all_blocks_run_in_order(tmp_path):
    copy_repository(tmp_path)
    make_downloads(tmp_path)
    all_blocks = blocks("sh", "python", "text")
    before = {path.name for path in tmp_path.iterdir()}
    output, wrong = "", []
    for block in all_blocks:
        if block.language == "text":
            has_output = block.place.partition(":")[0] in PAGES_WITH_OUTPUTS
            if has_output and (message := mismatch(block.text, output)):
                wrong.append(f"{block.place}: {message}\n{block.text}\n--- output:\n{output[-3000:]}")
        elif not block.is_download and not block.engine and block.text.strip() not in SKIPPED:
            output = run(block.program, tmp_path, block.place)
    assert not wrong, "\n".join(wrong)
    assert {path.name for path in tmp_path.iterdir()} == before  # all other files are in bert_output/
    pages = {block.place.partition(":")[0] for block in all_blocks if block.is_download}
    assert pages == {"README.md", "docs/models.md"}
    for block in all_blocks:  # the small models have the paths that the downloads would have
        for command, *words in block.commands if block.is_download and block.language == "sh" else ():
            if command == "unzip":
                assert (tmp_path / words[0].removesuffix(".zip") / "bert_model.ckpt.index").exists()
            elif command == "curl" and "-o" in words:
                assert (tmp_path / words[words.index("-o") + 1].replace("$name", "model.safetensors")).exists()


def test_every_target_of_make_works_after_the_others(tmp_path):
    """A training target finds its finished run the second time."""
    copy_repository(tmp_path)
    for target in TARGETS:
        run(["make", *target.split()], tmp_path, "Makefile")
    weights = tmp_path / "bert_cli" / "builtin" / "pretrained" / "model.safetensors"
    assert 0 < weights.stat().st_size < 16_000_000
    assert [path.name for path in (tmp_path / "bert_output").iterdir()] == [".gitkeep"]
    assert not (tmp_path / ".venv").exists()
