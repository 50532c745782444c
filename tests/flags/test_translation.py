"""--from_command prints command lines of transformers' scripts with our flags."""

import importlib
import json
import pathlib
import shlex

import pytest

from bert_cli.__main__ import COMMANDS
from bert_cli.base.errors import InputError
from bert_cli.flags.command import Command
from bert_cli.flags.foreign.command_lines import scripts, scripts_of
from bert_cli.flags.option import every_flag
from bert_cli.flags.translation import translate
from tests.docs_pages import settings_of
from tests.foreign_lines import PASTED, Pasted
from tests.readme_blocks import PAGES, ROOT, blocks
from tests.snapshots import raises

PAGE = {"docs/coming-from.md": PAGES["docs/coming-from.md"]}
SHOWN = [block.text for block in blocks("text", pages=PAGE) if "--from_command" in block.text]


def main_of(command: str) -> Command:
    """Return the function that runs a command."""
    return importlib.import_module(f"bert_cli.{COMMANDS[command][0]}").main


def words_of(command: str, line: str) -> list[str]:
    return shlex.split(translate(settings_of(command), command, line).splitlines()[0])


def remarks_of(command: str, line: str) -> list[str]:
    return translate(settings_of(command), command, line).splitlines()[1:]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("--model_name_or_path m", "--init_checkpoint=m"),
        ("--model_name_or_path bert-base-cased", "--init_checkpoint=hf:bert-base-cased"),
        ("--model_name_or_path a/bert-b --model_revision v1", "--init_checkpoint=hf:a/bert-b@v1"),
        ("--model_name_or_path ./bert-b --model_revision main", "--init_checkpoint=./bert-b"),
        ("--validation_file=b.csv", "--dev_file=b.csv"),
        ("--do_train False --do_eval True", "--do_eval"),
        (
            "--per_device_train_batch_size 8 --gradient_accumulation_steps 4",
            "--train_batch_size=32 --gradient_accumulation_steps=4",
        ),
        ("--fp16 --bf16 false", "--precision=float16"),
        ("--fp16 False", ""),
        ("--eval_strategy epoch --eval_steps 3", "--eval_every=epoch"),
        ("--eval_strategy=steps --eval_steps 3", "--eval_every=3"),
        ("--eval_strategy steps --logging_steps 7", "--eval_every=7 --log_steps=7"),
        ("--eval_strategy no", ""),
        ("--eval_steps 3", ""),
        ("--warmup_steps 0.1", "--warmup_proportion=0.1"),
        ("--warmup_ratio 0.2", "--warmup_proportion=0.2"),
        ("--lr_scheduler_type constant_with_warmup", "--lr_schedule=constant"),
        ("--optim adamw_torch", "--optimizer=adamw"),
        ("--report_to tensorboard", "--tensorboard"),
        ("--report_to none", ""),
        ("--adam_beta1 0.9 --max_grad_norm 1.0", ""),
        ("--gradient_checkpointing", "--recompute=layers"),
        ("--gradient_checkpointing False", ""),
        ("--output_dir 'a b'", "--output_dir=a b"),
        ("--weight-decay 0.1", "--weight_decay=0.1"),
        ("--seed 1 --data_seed 1", "--random_seed=1"),
        ("--text_column_names title,body", "--text_column=title --text_b_column=body"),
        ("--load_best_model_at_end False", None),
        ("--cased", "--do_lower_case=false"),
    ],
)
def test_flags_are_translated(theirs, ours):
    words = words_of("bert-classify", f"python x/run_glue.py {theirs}")
    if ours is not None:
        expected = shlex.split(ours.replace("--output_dir=a b", "'--output_dir=a b'"))
        assert sorted(words[1:]) == sorted(expected)


def test_the_flags_of_googles_scripts_stay():
    flags = "--task_name=MRPC --do_train --data_dir=glue --vocab_file=v --bert_config_file=c --init_checkpoint=m.ckpt"
    line = f"python run_classifier.py {flags.replace('--do_train', '--do_train=true')} --do_predict=false"
    assert words_of("bert-classify", line) == ["bert-classify", *flags.split()]
    squad = "--version_2_with_negative --do_predict --predict_file=dev.json --output_dir=o"
    assert words_of("bert-squad", f"python run_squad.py {squad}") == ["bert-squad", *squad.split()]


def test_a_revision_of_a_directory_is_named():
    remarks = remarks_of("bert-classify", "run_glue.py --do_eval --model_name_or_path ./bert-b --model_revision v1")
    assert any(remark.startswith("# --model_revision: a revision belongs to the name") for remark in remarks)


def test_flags_of_a_launcher_are_named():
    line = "torchrun --nproc_per_node=8 --nnodes 2 --max_restarts=0 --node_rank=1 run_glue.py --do_train"
    assert "--train_batch_size=128" in words_of("bert-classify", line)
    assert remarks_of("bert-classify", line) == [
        "# --train_batch_size: the batch of an update, 8 x 16; with fewer devices, raise --gradient_accumulation_steps",
        "# --max_restarts=0: is a flag of the launcher; leave it out",
        "# --node_rank: TF_CONFIG in the environment names several machines; leave it out",
    ]


def test_defaults_of_the_script_are_written_if_it_trains():
    words = words_of("bert-classify", "torchrun --nproc 2 run_glue.py --do_train --num_train_epochs 1")
    assert words == shlex.split(
        "bert-classify --do_train --num_train_epochs=1 --learning_rate=5e-5 --train_batch_size=8 --warmup_proportion=0 "
        "--weight_decay=0 --bias_correction"
    )
    assert "--num_warmup_steps=30" in words_of("bert-pretrain", "run_mlm.py --do_train --warmup_steps 30")
    steps = words_of("bert-pretrain", "run_mlm.py --do_train --max_steps 9 --validation_split_percentage 10")
    assert {"--num_train_steps=9", "--eval_share=0.1", "--no_nsp"} <= set(steps)


def test_masked_words_have_the_form_of_the_script():
    """run_mlm.py joins lines unless --line_by_line is given, and has no limit of masks or of evaluation steps."""
    corpus = {"--no_nsp", "--line_by_line", "--pack", "--max_seq_length=512", "--max_predictions_per_seq=77"}
    assert corpus <= set(words_of("bert-pretrain", "run_mlm.py --do_train"))
    words = words_of("bert-pretrain", "run_mlm.py --do_eval --mlm_probability 0.3")
    assert set(words[1:]) == corpus - {"--max_predictions_per_seq=77"} | {
        "--do_eval",
        "--masked_lm_prob=0.3",
        "--max_eval_steps=0",
        "--max_predictions_per_seq=154",
    }
    words = words_of("bert-pretrain", "run_mlm.py --do_train --line_by_line --max_seq_length 133")
    assert "--line_by_line" in words
    assert not any(word.startswith(("--pack", "--max_predictions", "--max_eval")) for word in words)
    assert "--pack" in words_of("bert-pretrain", "run_mlm.py --do_train --line_by_line false")


@pytest.mark.parametrize(
    ("theirs", "remark"),
    [
        ("--deepspeed a.json", "# --deepspeed: a model is not divided among devices here; leave it out"),
        (
            "--lr_scheduler_type polynomial",
            "# --lr_scheduler_type=polynomial: --lr_schedule is one of linear, cosine, constant",
        ),
        ("--warmup_steps 100", "# --warmup_steps=100: the flag is --warmup_proportion, a fraction of the steps"),
        ("--max_steps 100", "# --max_steps=100: the flag is --num_train_epochs, which counts epochs"),
        ("--xyzzy", "# --xyzzy: is unknown here"),
        ("--save_strategy epoch", "# --save_strategy: --save_checkpoints_steps counts steps"),
        ("--text_column_delimiter x", "# --text_column_delimiter: texts are not joined"),
        ("--seed 1 --data_seed 2", "# --data_seed=2: --random_seed=1 is already there"),
        ("--adam_beta1 0.8", "# --adam_beta1: it is 0.9 and has no flag; leave it out"),
        ("--max_seq_length x", "# before it runs: --max_seq_length=x: a whole number is needed"),
    ],
)
def test_flags_without_a_counterpart_are_named(theirs, remark):
    remarks = remarks_of("bert-classify", f"run_glue.py --do_eval {theirs}")
    assert any(line.startswith(remark) for line in remarks), remarks


@pytest.mark.parametrize(
    ("command", "line", "part"),
    [
        ("bert-tag", "python run_glue.py --do_train", "run_glue.py is replaced by bert-classify"),
        ("bert-doctor", "python run_glue.py", "bert-doctor replaces no other program"),
        ("bert-squad", "python train.py --do_train", "names none of run_qa.py, run_qa_no_trainer.py"),
        ("bert-squad", "", "names none of run_qa.py"),
        ("bert-squad", "run_qa.py 'a", "check the quotes"),
        ("bert-classify", "run_glue.py args.json", "args.json: no such file"),
        ("bert-classify", "run_glue.py args.yaml", "is YAML; save the arguments as JSON"),
    ],
)
def test_refused_command_lines(command, line, part):
    with raises(InputError, part):
        translate(settings_of(command), command, line)


def test_every_script_belongs_to_commands():
    for script in scripts():
        assert set(script.commands) <= set(COMMANDS)
        for command in script.commands:
            assert {name.split(" --")[0] for name in script.names} <= set(scripts_of(command))
            names = {flag.name for flag in every_flag(settings_of(command))}
            assert {word.removeprefix("--").partition("=")[0] for word in script.implied} <= names


def test_the_page_names_every_program():
    page = PAGES["docs/coming-from.md"]
    names = {name.split(" --")[0] for script in scripts() for name in script.names}
    assert {name for name in names if f"`{name}`" not in page} <= {
        "train.py",
        *(name for name in names if f"`{name.removesuffix('.py').replace('/', '.')}`" in page),
    }


def test_the_page_shows_what_is_printed(capsys):
    assert len(SHOWN) == 7
    for text in SHOWN:
        call, _, printed = text.removeprefix("$ ").replace("\\\n", "").partition('"\n')
        command, *arguments = shlex.split(call + '"')
        assert main_of(command)(arguments) == 0
        assert " ".join(capsys.readouterr().out.split()) == " ".join(printed.split())


def make_files(folder: pathlib.Path) -> None:
    """Link the repository's data into a directory, and write files that pasted lines name."""
    for name in ("data", "bert_cli"):
        (folder / name).symlink_to(ROOT / name)
    header, *rows = (ROOT / "data" / "reviews.csv").read_text(encoding="utf-8").splitlines()
    for name, part in (("train", rows[:200]), ("dev", rows[200:240])):
        (folder / f"reviews_{name}.csv").write_text("\n".join([header, *part]) + "\n", encoding="utf-8")
    arguments = {
        "model_name_or_path": "bert_cli/builtin/pretrained", "train_file": "reviews_train.csv",
        "validation_file": "reviews_dev.csv", "do_train": True, "do_eval": True, "max_seq_length": 48,
        "push_to_hub": False, "output_dir": "out", "label_names": None, "per_device_train_batch_size": 8,
    }  # fmt: skip
    (folder / "arguments.json").write_text(json.dumps(arguments), encoding="utf-8")


@pytest.mark.parametrize("pasted", PASTED, ids=lambda pasted: pasted.ours[:60])
def test_pasted_lines_are_translated(pasted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_files(tmp_path)
    first, *remarks = translate(settings_of(pasted.command), pasted.command, pasted.text).splitlines()
    assert first == pasted.ours
    assert [remark[: len(start)] for remark, start in zip(remarks, pasted.remarks, strict=True)] == [*pasted.remarks]
    assert not any("unknown" in remark for remark in remarks)


@pytest.mark.slow
@pytest.mark.parametrize(
    "pasted", [pasted for pasted in PASTED if pasted.missing is not None], ids=lambda pasted: pasted.ours[:60]
)
def test_translations_of_pasted_lines_run(pasted: Pasted, tmp_path, monkeypatch, capsys):
    """Those that lack data end with an error that names it."""
    monkeypatch.chdir(tmp_path)
    make_files(tmp_path)
    words = [word for word in shlex.split(pasted.ours) if not word.startswith("CUDA_VISIBLE_DEVICES=")]
    code = main_of(pasted.command)([*words[1:], *pasted.extra])
    assert code == (1 if pasted.missing else 0), capsys.readouterr().err
    assert pasted.missing in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("run_glue.py --do_eval --output_dir=out \\", "--do_eval --output_dir=out"),
        ("run_glue.py ^\n --do_eval ^\r\n --seed 1", "--do_eval --random_seed=1"),
        ("python run_glue.py ––do_eval —seed=“1”", "--do_eval --random_seed=1"),
        ("X=1; export OUT=o; run_glue.py --do_eval --output_dir ${OUT}/x", "--do_eval --output_dir=o/x"),
        ("OMP_NUM_THREADS=2 run_glue.py --do_eval", "--do_eval --num_threads=2"),
        ("sudo docker run --name run_glue.py img python run_glue.py --do_eval", "--do_eval"),
        ("run_classifier.py --nodo_train --do_eval=true", "--do_eval"),
        ("run_glue.py --do_eval --report_to tensorboard wandb", "--do_eval --tensorboard --report_to=wandb"),
        ("run_glue.py --do_eval --report_to mlflow,wandb", "--do_eval --report_to=mlflow,wandb"),
    ],
)
def test_forms_of_a_command_line(text, words):
    assert words_of("bert-classify", text) == ["bert-classify", *words.split()]


def test_shell_variables_stay(tmp_path):
    line = translate(settings_of("bert-classify"), "bert-classify", "run_glue.py --do_eval --output_dir '$HOME/a b'")
    assert line.splitlines()[0] == 'bert-classify --do_eval "--output_dir=$HOME/a b"'


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("run_glue.py --do_eval stray", "# --do_eval=stray: --do_eval is true or false"),
        ("run_glue.py --do_eval=true stray", "# stray: belongs to no flag"),
        ("MY_VARIABLE=1 run_glue.py --do_eval", "# MY_VARIABLE=1: is a variable that is unknown here; leave it out"),
        ("run_glue.py --do_eval && date", "# && date: is for the shell; add it again"),
    ],
)
def test_words_without_a_use_are_named(text, remark):
    assert remark in remarks_of("bert-classify", text)


@pytest.mark.parametrize("content", ["[1]", "{", '{"do_eval": true, "seed": 3, "lr_scheduler_kwargs": {"a": [1]}}'])
def test_arguments_in_a_json_file(content, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(content, encoding="utf-8")
    line = f"run_glue.py {path}"
    if content.endswith("}"):
        assert words_of("bert-classify", line) == ["bert-classify", "--do_eval", "--random_seed=3"]
    else:
        with raises(InputError, "a.json"):
            translate(settings_of("bert-classify"), "bert-classify", line)


@pytest.mark.slow
@pytest.mark.parametrize("text", SHOWN)
def test_printed_command_lines_run(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_files(tmp_path)
    printed = text.replace("\\\n", "").partition('"\n')[2].splitlines()
    command, *arguments = shlex.split(" ".join(line for line in printed if not line.startswith("#")))
    is_export = command == "bert-export"
    short = [] if is_export else ["--keep_checkpoint_max=1"]
    short += [] if is_export or command == "bert-pretrain" else ["--num_train_epochs=0.01"]
    assert main_of(command)([*arguments, *short]) == 0
    assert (tmp_path / ("onnx/model.onnx" if is_export else "out/eval_results.txt")).exists()
