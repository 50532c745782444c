"""Vectors that flags choose, and vectors that the modules of a directory choose."""

import dataclasses
import logging

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.text_lines import make_line
from bert_cli.predicting.vector_recipe import DEFAULT_LENGTH, VectorFlags, choose_recipe
from bert_cli.sentence.steps import Normalize
from bert_cli.text.tokenization import FullTokenizer
from tests.configs import small_config
from tests.sentence_cases import folder_of
from tests.snapshots import check_message, raises

CONFIG = small_config(max_position_embeddings=24)
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "query", "passage", "of", ":", "a", "b"]
TOKENIZER = FullTokenizer({token: number for number, token in enumerate(TOKENS)})


def recipe_of(name, tmp_path, config=CONFIG, **flags):
    return choose_recipe(VectorFlags(**flags), str(folder_of(name, tmp_path / name)), config)


def test_without_modules_there_are_defaults(tmp_path):
    recipe = choose_recipe(VectorFlags(), str(tmp_path), small_config(max_position_embeddings=200))
    assert (recipe.pooling, recipe.layers, recipe.steps, recipe.max_seq_length) == ("mean", "-1", (), DEFAULT_LENGTH)
    assert choose_recipe(VectorFlags(), str(tmp_path), CONFIG).max_seq_length == 24
    recipe = choose_recipe(VectorFlags(normalize=True), str(tmp_path), CONFIG, "none")
    assert (recipe.pooling, recipe.layers, recipe.steps) == ("none", "-1,-2,-3,-4", (Normalize(),))
    assert choose_recipe(VectorFlags(words=True), str(tmp_path), CONFIG, "none").layers == "-1"


def test_modules_are_followed_and_reported(tmp_path, caplog):
    caplog.set_level(logging.INFO, "bert_cli")
    recipe = recipe_of("dense", tmp_path)
    assert (recipe.is_followed, recipe.pooling, recipe.max_seq_length) == (True, "mean", 24)
    assert recipe.width(8) == 4
    check_message(caplog, "modules.json: ")
    assert recipe_of("length", tmp_path).max_seq_length == 6


def test_flags_win_and_are_reported(tmp_path, caplog):
    caplog.set_level(logging.INFO, "bert_cli")
    recipe = recipe_of("dense", tmp_path, pooling="cls")
    assert (recipe.is_followed, recipe.pooling, recipe.steps) == (False, "cls", ())
    check_message(caplog, "modules.json: ")
    assert recipe_of("cls", tmp_path, pooling="cls").is_followed
    assert recipe_of("mean", tmp_path, normalize=False).steps == ()
    assert "length 1; --normalize=false counts" in caplog.text
    assert recipe_of("length", tmp_path, max_seq_length=9).max_seq_length == 9
    assert recipe_of("last", tmp_path, layers="-2").layers == "-2"
    assert "--layers is given" in caplog.text


def test_tokens_need_no_modules(tmp_path):
    folder = folder_of("mean", tmp_path / "m")
    (folder / "modules.json").write_text('[{"type": "other.Module", "path": ""}]')
    assert choose_recipe(VectorFlags(pooling="none"), str(folder), CONFIG).modules is None
    assert choose_recipe(VectorFlags(words=True), str(folder), CONFIG).pooling == "none"
    with pytest.raises(InputError, match=r"lists other\.Module"):
        choose_recipe(VectorFlags(), str(folder), CONFIG)


def test_prompts(tmp_path):
    assert recipe_of("prompt", tmp_path).prompt == "query : "
    named = folder_of("prompt", tmp_path / "m")
    recipe = choose_recipe(VectorFlags(prompt_name="passage"), str(named), CONFIG)
    assert recipe.prompt == "passage of "
    assert recipe.with_prompt("query").prompt == "query : "
    assert recipe.with_prompt(None) is recipe
    with raises(InputError, "--prompt_name=x: "):
        recipe.with_prompt("x")
    with raises(InputError, "--prompt_name=x: "):
        choose_recipe(VectorFlags(prompt_name="x"), str(tmp_path), CONFIG)


def test_prompt_tokens_are_before_each_text(tmp_path):
    lines = [make_line(0, "a b", None), make_line(1, "b", "a")]
    (features,) = recipe_of("prompt", tmp_path).chunks(lines, TOKENIZER)
    tokens = TOKENIZER.convert_ids_to_tokens(features.token_ids.tolist())
    assert tokens[:6] == ["[CLS]", "query", ":", "a", "b", "[SEP]"]
    assert features.pooling_totals("mean").tolist() == [6, 7]
    (features,) = recipe_of("without_prompt_tokens", tmp_path).chunks(lines, TOKENIZER)
    assert features.pooling_totals("mean").tolist() == [3, 4]
    assert features.first_used(np.array([0, 1])).tolist() == [3, 3]
    assert features.pooling_weights("mean", np.array([0]), 7).tolist() == [[0, 0, 0, 1, 1, 1, 0]]
    assert features.pooling_weights("weighted_mean", np.array([0]), 7).tolist() == [[0, 0, 0, 4, 5, 6, 0]]
    assert features.pooling_weights("last", np.array([0]), 7).tolist() == [[0, 0, 0, 0, 0, 1, 0]]


def test_texts_are_lower_cased_before_the_tokenizer(tmp_path):
    cased = FullTokenizer({token: number for number, token in enumerate(TOKENS)}, do_lower_case=False)
    recipe = dataclasses.replace(recipe_of("mean", tmp_path), lower_cases=True)
    (features,) = recipe.chunks([make_line(0, "A", "B")], cased)
    assert cased.convert_ids_to_tokens(features.token_ids.tolist()) == ["[CLS]", "a", "[SEP]", "b", "[SEP]"]


def test_modules_of_another_encoder_are_refused(tmp_path):
    with raises(InputError, "8 numbers"):
        recipe_of("mean", tmp_path, small_config(hidden_size=6))


def test_recipes_become_modules(tmp_path):
    modules = recipe_of("prompt", tmp_path, max_seq_length=9).to_modules(8)
    assert (modules.pooling, modules.default_prompt_name, modules.max_seq_length) == ("mean", "query", 9)
    assert modules.steps == (Normalize(),)
    assert choose_recipe(VectorFlags(pooling="pooler"), str(tmp_path), CONFIG).to_modules(8) is None
    assert choose_recipe(VectorFlags(pooling="cls", layers="0"), str(tmp_path), CONFIG).to_modules(8) is None
