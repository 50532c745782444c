"""Small SQuAD files for tests."""

import json

CONTEXT = "Ann Lee was  born (1895)."  # words: Ann Lee was born (1895).


def question(qas_id="q1", *answers, **fields):
    answer_dicts = [{"text": text, "answer_start": start} for text, start in answers]
    return {"id": qas_id, "question": "When?", "answers": answer_dicts, **fields}


def squad_file(tmp_path, *questions, context=CONTEXT):
    path = tmp_path / "some.json"
    path.write_text(json.dumps({"data": [{"paragraphs": [{"context": context, "qas": list(questions)}]}]}))
    return str(path)
