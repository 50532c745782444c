"""Lists of numbers in flags, the runs for them, checks of flags with files, and derived values."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.flags.help import full_help_text
from bert_cli.flags.option import build, grid_values, replace_values
from bert_cli.flags.parser import parse
from bert_cli.runs.sweep.trials import plan_trials
from bert_cli.settings.classification import ClassifySettings, check_filled_data
from bert_cli.settings.pretraining import PretrainSettings
from bert_cli.settings.squad import SquadSettings
from bert_cli.settings.tagging import TagSettings
from bert_cli.settings.texts import ExtractSettings, check_shards
from bert_cli.settings.training import has_several_runs, with_frozen_encoder
from tests.snapshots import raises


def settings_of(*arguments, settings_class=ClassifySettings):
    return build(settings_class, parse(settings_class, list(arguments))[0])


@pytest.mark.parametrize("settings_class", [ClassifySettings, SquadSettings, TagSettings, PretrainSettings])
def test_a_single_value_is_not_a_list(settings_class):
    settings = settings_of("--learning_rate=5e-5", "--train_batch_size=16", settings_class=settings_class)
    assert (settings.training.learning_rate, settings.training.train_batch_size) == (5e-5, 16)
    assert isinstance(settings.training.train_batch_size, int)
    assert grid_values(settings) == {}
    assert not has_several_runs(settings)
    assert has_several_runs(settings_of("--num_runs=2", settings_class=settings_class))
    assert grid_values(settings_of("--learning_rate=1e-4, 2e-4", settings_class=settings_class)) == {
        "learning_rate": (1e-4, 2e-4)
    }


@pytest.mark.parametrize(
    ("argument", "place"),
    [
        ("--learning_rate=fast", "--learning_rate=fast: "),
        ("--learning_rate=1e-4,fast", ""),
        ("--learning_rate=1e-4,", ""),
        ("--learning_rate=-1", "--learning_rate=-1: "),
        ("--learning_rate=1,-1", "--learning_rate=1,-1: "),
        ("--train_batch_size=2.5", "--train_batch_size=2.5: "),
        ("--train_batch_size=16,0", ""),
        ("--train_batch_size=16,16", "--train_batch_size=16,16: "),
        ("--num_train_epochs=2,inf", "--num_train_epochs=inf: "),
        ("--max_seq_length=64,128", "--max_seq_length=64,128: "),
    ],
)
def test_wrong_numbers_are_refused(argument, place):
    with raises(InputError, place):
        settings_of(argument)


def test_a_grid_has_a_folder_for_each_combination():
    settings = settings_of(
        "--learning_rate=5e-5,3e-5", "--num_train_epochs=2", "--train_batch_size=16,32", "--num_runs=3"
    )
    sweep_type, cells = plan_trials(settings)
    assert sweep_type == "grid"
    assert [cell.folder for cell in cells] == [
        "grid-train_batch_size-16-learning_rate-5e-05",
        "grid-train_batch_size-16-learning_rate-3e-05",
        "grid-train_batch_size-32-learning_rate-5e-05",
        "grid-train_batch_size-32-learning_rate-3e-05",
    ]
    assert cells[1].values == {"train_batch_size": 16, "learning_rate": 3e-05}
    cell = replace_values(settings, cells[1].values)
    sweep_type, runs = plan_trials(cell)
    assert sweep_type == "runs"
    assert [(run.folder, run.values) for run in runs] == [
        ("run-1", {"random_seed": 12345}),
        ("run-2", {"random_seed": 12346}),
        ("run-3", {"random_seed": 12347}),
    ]
    assert cell.fine_tuning.num_train_epochs == 2.0


def test_nearly_equal_numbers_have_different_folders():
    _, cells = plan_trials(settings_of("--learning_rate=1.0000001e-4,1e-4"))
    assert [cell.folder for cell in cells] == ["grid-learning_rate-0.00010000001", "grid-learning_rate-0.0001"]


def test_help_mentions_lists():
    text = " ".join(full_help_text(ClassifySettings, "bert-classify", "").split())
    assert "5e-5 for BERT-Base; a list makes a grid of runs; a list needs --do_train" in text
    assert (
        "--train_batch_size: training batch size, over all devices; a list makes a grid of runs; a list needs" in text
    )


def test_check_shards(tmp_path):
    for number in range(3):
        (tmp_path / f"part-{number}.txt").write_text("a text\n")
    pattern, single_file = str(tmp_path / "part-*"), str(tmp_path / "part-0.txt")
    flags = {"input_file": "output_file", "predict_file": "output_dir"}

    def check(given_names=(), **values):
        return check_shards(build(ClassifySettings, {"output_file": "x"} | values), given_names, flags)

    assert check(input_file=pattern)
    assert check(input_file="a.txt,b.txt")
    assert not check(input_file=single_file)
    with raises(InputError, "--shard"):
        check(("shard",), input_file=single_file)
    with raises(InputError, "--output_file: "):
        check(input_file=pattern, output_file="-")
    settings = build(ExtractSettings, {"input_file": pattern, "output_file": "x", "resume": True})
    with raises(InputError, "--resume"):
        check_shards(settings, (), {"input_file": "output_file"})
    with raises(InputError, "--do_eval"):
        check(predict_file=pattern, do_eval=True)
    odd_path = tmp_path / "what?.txt"  # a file with a wildcard in its name is a single file
    odd_path.write_text("")
    assert not check(input_file=str(odd_path))


@pytest.mark.parametrize(
    ("flag", "phase"),
    [("train_file", "do_train"), ("dev_file", "do_eval"), ("test_file", "do_predict"), ("predict_file", "do_predict")],
)
def test_an_empty_data_file_is_refused_by_the_name_of_its_flag(tmp_path, flag, phase):
    path = tmp_path / "empty.csv"
    path.touch()
    check_filled_data(build(ClassifySettings, {flag: str(path)}))  # accepted, because no phase reads the file
    with pytest.raises(InputError) as caught:
        check_filled_data(build(ClassifySettings, {flag: str(path), phase: True}))
    assert str(caught.value) == f"{path}: is empty; check --{flag}"


def test_a_module_that_is_not_trained_freezes_the_encoder():
    settings = settings_of("--hub_module=m", "--hub_trainable=false")
    assert not settings.rates.freeze_encoder
    assert with_frozen_encoder(settings).rates.freeze_encoder
    assert with_frozen_encoder(settings_of("--hub_module=m")) == settings_of("--hub_module=m")
