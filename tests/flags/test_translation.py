"""--from_command prints command lines of transformers' scripts with our flags."""

import shlex

import pytest

from bert_cli import run_classifier, run_pretraining, run_squad, run_tagging
from bert_cli.base.errors import InputError
from bert_cli.flags.parser import parse
from bert_cli.flags.translation import scripts, scripts_of, translate
from tests.docs_pages import settings_of
from tests.readme_blocks import PAGES, ROOT, blocks
from tests.snapshots import raises

MAINS = {
    "bert-classify": run_classifier.main,
    "bert-tag": run_tagging.main,
    "bert-squad": run_squad.main,
    "bert-pretrain": run_pretraining.main,
}
PAGE = {"docs/coming-from.md": PAGES["docs/coming-from.md"]}
SHOWN = [block.text for block in blocks("text", pages=PAGE) if "--from_command" in block.text]


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
    remarks = remarks_of("bert-classify", "torchrun --nproc_per_node=8 run_glue.py --do_eval")
    assert remarks[0].startswith("# --nproc_per_node=8: is a flag of the launcher; multiply --train_batch_size")


def test_defaults_of_the_script_are_written_if_it_trains():
    words = words_of("bert-classify", "torchrun --nproc 2 run_glue.py --do_train --num_train_epochs 1")
    assert words == shlex.split(
        "bert-classify --do_train --num_train_epochs=1 --learning_rate=5e-5 --train_batch_size=8 --warmup_proportion=0 "
        "--weight_decay=0 --bias_correction"
    )
    assert "--num_warmup_steps=30" in words_of("bert-pretrain", "run_mlm.py --do_train --warmup_steps 30")
    steps = words_of("bert-pretrain", "run_mlm.py --do_train --max_steps 9 --validation_split_percentage 10")
    assert {"--num_train_steps=9", "--eval_share=0.1", "--no_nsp"} <= set(steps)


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
        ("bert-serve", "python run_glue.py", "bert-serve replaces no script"),
        ("bert-squad", "python train.py --do_train", "names none of run_qa.py, run_squad.py"),
        ("bert-squad", "", "names none of run_qa.py"),
        ("bert-squad", "run_qa.py 'a", "check the quotes"),
        ("bert-classify", "run_glue.py args.json", "'args.json' is no flag"),
    ],
)
def test_refused_command_lines(command, line, part):
    with raises(InputError, part):
        translate(settings_of(command), command, line)


def test_every_script_belongs_to_a_command():
    assert {script.command for script in scripts().values()} == MAINS.keys()
    for name, script in scripts().items():
        assert name in scripts_of(script.command)
        assert parse(settings_of(script.command), script.implied)


def test_the_page_shows_what_is_printed(capsys):
    assert len(SHOWN) == 5
    for text in SHOWN:
        call, _, printed = text.removeprefix("$ ").replace("\\\n", "").partition('"\n')
        command, *arguments = shlex.split(call + '"')
        assert MAINS[command](arguments) == 0
        assert " ".join(capsys.readouterr().out.split()) == " ".join(printed.split())


@pytest.mark.slow
@pytest.mark.parametrize("text", SHOWN)
def test_printed_command_lines_run(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("data", "bert_cli"):
        (tmp_path / name).symlink_to(ROOT / name)
    header, *rows = (ROOT / "data" / "reviews.csv").read_text(encoding="utf-8").splitlines()
    for name, part in (("train", rows[:200]), ("dev", rows[200:240])):
        (tmp_path / f"reviews_{name}.csv").write_text("\n".join([header, *part]) + "\n", encoding="utf-8")
    printed = text.replace("\\\n", "").partition('"\n')[2].splitlines()
    command, *arguments = shlex.split(" ".join(line for line in printed if not line.startswith("#")))
    epochs = [] if command == "bert-pretrain" else ["--num_train_epochs=0.01"]
    assert MAINS[command]([*arguments, *epochs, "--keep_checkpoint_max=1"]) == 0
    assert (tmp_path / "out" / "eval_results.txt").exists()
