"""In a copy of the repository, one after the other: every block of the README and of docs/ as it is printed, and every target
of make.

What would be downloaded are small models of random weights in the same layout.
"""

import pathlib
import shutil
import tarfile

import pytest

from tests.clone import copy_repository, run
from tests.commands.convert_run import convert, make_source
from tests.readme_blocks import blocks

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]  # minutes
# It runs these very tests.
SKIPPED = ("make test",)


def make_downloads(folder: pathlib.Path) -> None:
    """What the blocks that download leave, with small models."""
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


def test_the_blocks_run_one_after_the_other(tmp_path):
    copy_repository(tmp_path)
    make_downloads(tmp_path)
    found = blocks("sh", "python")
    before = {path.name for path in tmp_path.iterdir()}
    for block in found:
        if not block.is_download and not block.engine and block.text.strip() not in SKIPPED:
            run(block.program, tmp_path, block.place)
    assert {path.name for path in tmp_path.iterdir()} == before  # all else is below bert_output/
    pages = {block.place.partition(":")[0] for block in found if block.is_download}
    assert pages == {"README.md", "docs/models.md"}
    for block in found:  # what a download would leave is what stands in for it
        for command, *words in block.commands if block.is_download and block.language == "sh" else ():
            if command == "unzip":
                assert (tmp_path / words[0].removesuffix(".zip") / "bert_model.ckpt.index").exists()
            elif command == "curl" and "-o" in words:
                assert (tmp_path / words[words.index("-o") + 1].replace("$name", "model.safetensors")).exists()


TARGETS = (
    "help", "install", "quickstart", "classify", "pretrain", "tag", "squad", "features", "convert FROM=bert_output TO=hf",
    "export", "quickstart", "classify", "tag", "squad", "pretrain",
    # The last one but clean: what it writes is what the others would start from.
    "builtin-model BUILTIN_TEXT=data/pretraining/corpus.txt BUILTIN_STEPS=4 BUILTIN_WARMUP_STEPS=1"
    " BUILTIN_FALL_STEPS=4 BUILTIN_FALL_WARMUP_STEPS=1 BUILTIN_AVERAGE=2 BUILTIN_FLAGS=--save_checkpoints_steps=2", "clean",
)  # fmt: skip
# They need tests/, what pip fetches, or, the last two, a model, a GPU and other programs.
OF_DEVELOPERS = {"lint", "format", "docs", "test", "test-all", "test-pythons", "benchmark", "check-gpu"}


def test_every_target_of_make_works_after_the_others(tmp_path):
    """Those that train find their finished run the second time."""
    copy_repository(tmp_path)
    for target in TARGETS:
        run(["make", *target.split()], tmp_path, "Makefile")
    weights = tmp_path / "bert_cli" / "builtin" / "pretrained" / "model.safetensors"
    assert 0 < weights.stat().st_size < 16_000_000
    assert [path.name for path in (tmp_path / "bert_output").iterdir()] == [".gitkeep"]
    assert not (tmp_path / ".venv").exists()
