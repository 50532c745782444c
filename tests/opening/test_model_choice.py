"""A model that the user names is used, and never another run that happens to be in output_dir."""

import json
import logging

import pytest

from bert_cli.base.errors import InputError
from bert_cli.flags.option import build
from bert_cli.opening.model_choice import with_chosen_model
from bert_cli.settings.classification import ClassifySettings
from tests.opening.test_checkpoints import make_run
from tests.snapshots import check_message, raises

MODULE = {"hub_module": "/modules/words", "hidden_size": 4, "num_hidden_layers": 1, "max_position_embeddings": 8}


@pytest.fixture
def run(tmp_path):
    """A run's directory with two checkpoints, which started from random weights."""
    return started_from(make_run(tmp_path / "run", 2, 4), None)


@pytest.fixture
def named_run(tmp_path):
    return started_from(make_run(tmp_path / "named_run", 9), None)


def started_from(folder, name):
    (folder / "run.json").write_text(json.dumps({"config": {}, "init_checkpoint": name and str(name)}))
    return folder


def choose(**values):
    """Choose with flags that are all given."""
    values = {name: value if value is True else str(value) for name, value in values.items()}
    return with_chosen_model(build(ClassifySettings, values), set(values))


def choose_with_default_dir(folder, **values):
    """Choose as if `folder` were the default output_dir."""
    settings = build(ClassifySettings, {"output_dir": str(folder)} | values)
    return with_chosen_model(settings, set(values))


def test_a_named_model_is_used_although_the_default_directory_holds_a_run(run, named_run):
    settings = choose_with_default_dir(run, init_checkpoint=str(named_run), text="a film")
    assert settings.model.init_checkpoint == str(named_run)


@pytest.mark.parametrize("phase", ["do_predict", "do_eval"])
def test_results_of_a_named_model_are_not_mixed_with_another_run(phase, run, named_run, tmp_path):
    with raises(InputError, f"--init_checkpoint={named_run}: "):
        choose_with_default_dir(run, init_checkpoint=str(named_run), **{phase: True})
    free = choose_with_default_dir(tmp_path / "free", init_checkpoint=str(named_run), **{phase: True})
    assert free.model.init_checkpoint == str(named_run)


def test_two_models_are_refused(run, named_run):
    with raises(InputError, f"--init_checkpoint={named_run}", "--init_checkpoint", "--output_dir"):
        choose(output_dir=run, init_checkpoint=named_run, text="a film")
    with raises(InputError, "--output_dir"):
        choose(output_dir=run, init_checkpoint=named_run, do_predict=True)


def test_the_run_is_used_if_it_started_from_the_named_model(run, named_run, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    started_from(run, named_run / "model.ckpt-9")
    (tmp_path / "link").symlink_to(run)
    for folder in (run, tmp_path / "link"):
        assert choose(output_dir=folder, init_checkpoint=named_run, do_predict=True).model.init_checkpoint == ""
    check_message(caplog.messages[0], f"{named_run}: ")


def test_a_checkpoint_of_the_run_is_used_as_given(run, tmp_path):
    (tmp_path / "link").symlink_to(run)
    best = make_run(run / "best", 2)
    for path in (run / "model.ckpt-2", tmp_path / "link" / "model.ckpt-2", run, best / "model.ckpt-2"):
        for values in ({}, {"do_predict": True}):
            assert choose(output_dir=run, init_checkpoint=path, **values).model.init_checkpoint == str(path)
            assert choose_with_default_dir(run, init_checkpoint=str(path), **values).model.init_checkpoint == str(path)


def test_the_best_checkpoint_names_the_start_too(run, named_run):
    best = started_from(make_run(run / "best", 2), named_run / "model.ckpt-9")
    (run / "best.json").write_text(json.dumps({"folder": best.name}))
    assert choose(output_dir=run, init_checkpoint=named_run).model.init_checkpoint == ""


def test_a_named_model_is_used_without_a_run(named_run, tmp_path):
    assert choose(output_dir=tmp_path / "new", init_checkpoint=named_run, do_eval=True).model.init_checkpoint == str(
        named_run
    )


def test_random_weights_are_no_model_to_use(run, named_run):
    assert choose(output_dir=run, init_checkpoint="random").model.init_checkpoint == ""
    started_from(run, named_run / "model.ckpt-9")
    with raises(InputError, f"{run} started"):
        choose(output_dir=run, init_checkpoint="random")


def test_a_run_without_run_json_is_another_model(run, named_run):
    (run / "run.json").unlink()
    with raises(InputError, "--init_checkpoint"):
        choose(output_dir=run, init_checkpoint=named_run)


def test_a_module_that_the_run_started_from(run, tmp_path):
    module = tmp_path / "module"
    started_from(run, module)
    assert choose(output_dir=run, hub_module=module).hub.hub_module is None
    with raises(InputError, f"--hub_module={tmp_path}/x: "):
        choose(output_dir=run, hub_module=tmp_path / "x")
    with raises(InputError, "--output_dir"):
        choose_with_default_dir(run, hub_module=str(module))


def test_a_module_that_the_model_needs(run):
    (run / "bert_config.json").write_text(json.dumps(MODULE | {"vocab_size": 9}))
    for settings in (
        choose(output_dir=run, hub_module="/moved"),
        choose_with_default_dir(run, hub_module="/modules/words"),
    ):
        assert settings.hub.hub_module in ("/moved", "/modules/words")
    with raises(InputError, run):
        choose_with_default_dir(run, hub_module="/others/words")


def test_a_run_is_used_if_nothing_else_is_named(run):
    settings = build(ClassifySettings, {"output_dir": str(run)})
    assert with_chosen_model(settings, ()) == settings
