"""Keys in the files of sentence-transformers: each is in one table."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.log import warn_once
from bert_cli.sentence import keys
from bert_cli.sentence.modules import read_modules
from tests.sentence_cases import folder_of

TABLES = {
    "modules.json": keys.MODULE_KEYS,
    "sentence_bert_config.json": keys.ENCODER_KEYS,
    "config_sentence_transformers.json": keys.SENTENCE_KEYS,
    "1_Pooling/config.json": keys.POOLING_KEYS,
    "2_Dense/config.json": keys.DENSE_KEYS,
    "2_Normalize/config.json": keys.NORMALIZE_KEYS,
}
# Values that cannot be computed.
REFUSED = {
    "kwargs": ["task"],
    "transformer_task": "fill-mask",
    "module_input_name": "token_embeddings",
    "module_output_name": "pooler_output",
    "query_length": 32,
    "document_length": 180,
    "query_expansion": True,
    "model_type": "SparseEncoder",
}
OPTIONS = {"num_labels": 3}


def write_key(folder, name, key, value):
    """Write a key into a file, which may be missing, or into the first entry of modules.json."""
    path = folder / name
    contents = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    (contents[0] if isinstance(contents, list) else contents)[key] = value
    path.write_text(json.dumps(contents), encoding="utf-8")


@pytest.fixture
def make_folder(tmp_path):
    """Return a function from a file's name to a new model directory that has the file's module."""
    return lambda name: folder_of("dense" if "Dense" in name else "mean", tmp_path / "m")


@pytest.mark.parametrize("name", TABLES)
def test_every_key_has_one_entry(name):
    table = TABLES[name]
    names = [*table.obeyed, *table.no_effect, *table.required]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("name", "key"), [(name, key) for name, table in TABLES.items() for key in table.required])
def test_other_values_are_refused(name, key, make_folder):
    folder = make_folder(name)
    write_key(folder, name, key, REFUSED.get(key, OPTIONS))
    with pytest.raises(InputError, match=rf"{name}.*: {key} is .*one vector per text can be computed here"):
        read_modules(str(folder))
    write_key(folder, name, key, TABLES[name].required[key].values[0])
    assert read_modules(str(folder), strict=True)


@pytest.mark.parametrize("name", TABLES)
def test_unknown_keys_are_named_once_or_refused(name, make_folder, caplog):
    folder = make_folder(name)
    write_key(folder, name, "other", 1)
    warn_once.cache_clear()
    for _ in range(2):
        assert read_modules(str(folder))
    assert caplog.text.count("not known here, not used: other") == 1
    with pytest.raises(InputError, match=r"not used: other \(an error with --strict\)"):
        read_modules(str(folder), strict=True)
