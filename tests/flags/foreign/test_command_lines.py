"""Parts of other programs' command lines; tests/flags/test_translation.py translates them."""

import pytest

from bert_cli.flags.foreign.command_lines import read_foreign_line, scripts


def read(text: str):
    line = read_foreign_line(text, "--from_command")
    assert line is not None
    return line


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("python run_squad.py --vocab_file v", "run_squad.py"),
        ("python run_squad.py --model_name_or_path m", "run_squad.py --model_name_or_path"),
        ("python models/official/nlp/bert/run_squad.py", "official/nlp/bert/run_squad.py"),
        ("python -m official.nlp.bert.run_squad", "official/nlp/bert/run_squad.py"),
        ("python train.py --mode train --experiment bert/squad", "train.py --experiment=bert/squad"),
        ("optimum-cli export tflite -m m --sequence_length 8 t", "optimum-cli export tflite"),
        ("docker run -p 1:80 g.io/x/text-embeddings-inference:cpu-1.8 --model-id m", "text-embeddings-inference"),
    ],
)
def test_the_most_specific_program_is_found(text, name):
    assert read(text).name == name


@pytest.mark.parametrize("text", ["", "python train.py --experiment=bert/other", "optimum-cli env", "my_run_glue.py"])
def test_unknown_programs(text):
    assert read_foreign_line(text, "--from_command") is None


def test_all_parts():
    line = read("A=1 export B=2; torchrun --np=2 run_glue.py --Max-Seq-Length 3 --labels a b -x '$A $C' > log")
    assert line.flags == {"max_seq_length": "3", "labels": "a,b", "x": "1 $C"}
    assert line.launcher == [("--np", "2")]
    assert line.variables == {"B": "2"}
    assert line.shell_words == [">", "log"]


def test_words_of_a_program_with_switches():
    assert read("optimum-cli export onnx --monolith out --opset 9").flags == {
        "monolith": "",
        "output": "out",
        "opset": "9",
    }


def test_the_table_names_flags_without_hyphens():
    for script in scripts():
        assert not [word for word in (*script.switches, *script.words) if word.startswith("-")]
        assert all(word.startswith("--") for word in (*script.defaults, *script.implied))
        assert script.variables in ("", "yes")


def test_all_stray_words_are_kept_apart_from_those_of_the_shell():
    line = read("python run_glue.py first second --do_train true third | tee log")
    assert (line.strays, line.shell_words) == (["first", "second"], ["|", "tee", "log"])
    assert line.flags == {"do_train": "true,third"}
