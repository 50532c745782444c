"""Reader for directories of sentence-transformers: values that it obeys, and values that it refuses."""

import json
import shutil

import pytest

from bert_cli.base.errors import InputError
from bert_cli.sentence.modules import module_paths, modules_file, read_modules
from bert_cli.sentence.steps import Dense, Normalize, Truncate
from tests.sentence_cases import CASES, folder_of
from tests.snapshots import check_message, raises


def change(folder, name, **values):
    """Change keys in a JSON file."""
    path = folder / name
    contents = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(contents | values), encoding="utf-8")


def modules_of(name, tmp_path):
    return read_modules(str(folder_of(name, tmp_path / name)))


@pytest.mark.parametrize(
    ("name", "pooling"),
    [
        ("mean", "mean"), ("cls", "cls"), ("max", "max"), ("mean_sqrt_len", "mean_sqrt_len"), ("last", "last"),
        ("weighted_mean", "weighted_mean"), ("concatenated", "mean,cls,max"),
    ],
)  # fmt: skip
def test_poolings(name, pooling, tmp_path):
    assert modules_of(name, tmp_path).pooling == pooling


def test_older_keys_have_a_fixed_order(tmp_path):
    folder = folder_of("concatenated", tmp_path / "m")
    keys = {"word_embedding_dimension": 8, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(keys), encoding="utf-8")
    assert read_modules(str(folder)).pooling == "cls,mean"


def test_steps_prompts_and_length(tmp_path):
    dense, normalize = modules_of("dense", tmp_path).steps
    assert isinstance(dense, Dense)
    assert (dense.activation, dense.output_width) == ("Tanh", 4)
    assert isinstance(normalize, Normalize)
    assert modules_of("truncated", tmp_path).steps[-1] == Truncate(3)
    prompted = modules_of("prompt", tmp_path)
    assert prompted.prompts["passage"] == "passage of "
    assert prompted.default_prompt_name == "query"
    assert modules_of("length", tmp_path).max_seq_length == 6
    assert not modules_of("without_prompt_tokens", tmp_path).includes_prompt


def test_length_in_the_files_of_older_releases(tmp_path):
    folder = folder_of("mean", tmp_path / "m")
    change(folder, "sentence_bert_config.json", max_seq_length=7, do_lower_case=True)
    modules = read_modules(str(folder))
    assert (modules.max_seq_length, modules.lower_cases) == (7, True)


def test_a_directory_without_modules_has_none(tmp_path):
    folder = folder_of("mean", tmp_path / "m")
    (folder / "modules.json").unlink()
    assert read_modules(str(folder)) is None


def test_older_layout_with_the_encoder_in_a_subdirectory(tmp_path):
    folder = folder_of("cls", tmp_path / "m")
    encoder = folder / "0_Transformer"
    encoder.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        shutil.move(folder / name, encoder / name)
    modules = json.loads((folder / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (folder / "modules.json").write_text(json.dumps(modules))
    assert read_modules(str(encoder)).pooling == "cls"
    assert modules_file(str(folder / "1_Pooling")) is None


def test_module_paths_are_relative(tmp_path):
    folder = folder_of("dense", tmp_path / "m")
    assert sorted(module_paths(str(folder))) == [
        "1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors", "3_Normalize/config.json"
    ]  # fmt: skip
    assert module_paths(str(tmp_path)) == {}


@pytest.mark.parametrize(
    ("name", "file", "values", "fragment"),
    [
        ("mean", "1_Pooling/config.json", {"pooling_mode": "median"}, "'median'"),
        ("mean", "1_Pooling/config.json", {"include_prompt": 1}, "include_prompt: "),
        ("dense", "2_Dense/config.json", {"activation_function": "torch.nn.Mish"}, "'torch.nn.Mish'"),
        ("dense", "2_Dense/config.json", {"activation_function": "mine.Tanh"}, "'mine.Tanh'"),
        ("dense", "2_Dense/config.json", {"out_features": 5}, "5 features"),
        ("dense", "2_Dense/config.json", {"module_input_name": "token_embeddings"}, ""),
        ("dense", "1_Pooling/config.json", {"pooling_mode": ["cls", "mean"]}, "16 numbers"),
        ("mean", "sentence_bert_config.json", {"transformer_task": "fill-mask"}, "'fill-mask'"),
        ("mean", "sentence_bert_config.json", {"query_length": 32}, ""),
        ("mean", "sentence_bert_config.json", {"max_seq_length": 1}, ""),
        ("mean", "config_sentence_transformers.json", {"model_type": "SparseEncoder"}, ""),
        ("mean", "config_sentence_transformers.json", {"default_prompt_name": "x"}, "'x'"),
    ],
)
def test_refused_values(name, file, values, fragment, tmp_path):
    folder = folder_of(name, tmp_path / "m")
    change(folder, file, **values)
    with raises(InputError, fragment):
        read_modules(str(folder))


@pytest.mark.parametrize(
    "module",
    [
        {"type": "sentence_transformers.models.WeightedLayerPooling"},
        {"type": "custom_st.Transformer"},
        {"path": "../other"},
    ],
)
def test_refused_modules(module, tmp_path):
    folder = folder_of("mean", tmp_path / "m")
    modules = json.loads((folder / "modules.json").read_text())
    modules.append({"idx": 3, "name": "3", "path": "3_X", "type": "sentence_transformers.models.Dense"} | module)
    (folder / "modules.json").write_text(json.dumps(modules))
    with raises(InputError):
        read_modules(str(folder))


@pytest.mark.parametrize("kept", [[1], [0]])
def test_missing_modules(kept, tmp_path):
    folder = folder_of("max", tmp_path / "m")
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps([modules[number] for number in kept]))
    with raises(InputError):
        read_modules(str(folder))


def test_unknown_keys_are_named(tmp_path, caplog):
    folder = folder_of("mean", tmp_path / "m")
    change(folder, "1_Pooling/config.json", temperature=2, bias=1)
    read_modules(str(folder))
    check_message(caplog, "1_Pooling/config.json: ")


def test_every_case_is_read(tmp_path):
    assert len([modules_of(name, tmp_path) for name in CASES]) == 14
