"""API keys: the key file, comments, reloading, and the headers that have a key."""

import base64

import pytest

from bert_cli.base.errors import InputError
from bert_cli.serving.keys import ApiKeys, Client


@pytest.fixture
def key_file(tmp_path):
    path = tmp_path / "keys"
    path.write_text("# keys of 2026\n\nfirst\n   \n  second  # of the proxy\n#third\nwith#sign\n")
    return path


def is_accepted(keys, key):
    return keys.find_client(f"Bearer {key}") is not None


def test_comments_and_blank_lines_are_not_keys(key_file):
    keys = ApiKeys(str(key_file))
    assert len(keys) == 3
    assert all(is_accepted(keys, key) for key in ("first", "second", "with#sign"))
    wrong_keys = ("", "#", "# keys of 2026", "#third", "third", "second  # of the proxy", "of the proxy")
    assert not any(is_accepted(keys, key) for key in wrong_keys)


def test_file_without_a_key_is_refused(tmp_path):
    (tmp_path / "keys").write_text("# nothing yet\n\n")
    with pytest.raises(InputError, match="holds no key"):
        ApiKeys(str(tmp_path / "keys"))


def test_reload_replaces_the_keys(key_file):
    keys = ApiKeys(str(key_file))
    key_file.write_text("new\n")
    keys.reload()
    assert [is_accepted(keys, key) for key in ("new", "first")] == [True, False]


@pytest.mark.parametrize("content", [None, b"", b"# only a comment\n", b"\xff\xfe"])
def test_old_keys_stay_valid_after_a_failed_reload(key_file, content):
    keys = ApiKeys(str(key_file))
    key_file.unlink()
    if content is not None:
        key_file.write_bytes(content)
    with pytest.raises(InputError):
        keys.reload()
    assert is_accepted(keys, "first")


def test_browsers_send_the_key_as_a_password(key_file):
    keys = ApiKeys(str(key_file))
    for credentials, accepted in ((b"anybody:first", True), (b"first:", False), (b"\xff:first", False)):
        client = keys.find_client(f"Basic {base64.b64encode(credentials).decode()}")
        assert (client is not None) is accepted
    assert keys.find_client("Basic first") is None
    assert keys.find_client("Digest first") is None


def test_requests_need_no_key_without_a_file():
    assert ApiKeys(None).find_client("") == Client()


def test_keys_have_names(tmp_path):
    path = tmp_path / "keys"
    path.write_text("team-a:one\nteam-a:two  # the next key\nplain\nb:with:colon\n")
    keys = ApiKeys(str(path))
    clients = {
        key: keys.find_client(f"Bearer {key}") for key in ("one", "two", "plain", "with:colon", "team-a:one", "")
    }
    names = {key: client and client.name for key, client in clients.items()}
    assert names == {"one": "team-a", "two": "team-a", "plain": "", "with:colon": "b", "team-a:one": None, "": None}
    path.write_text("a\n\nteam-a:\n")
    with pytest.raises(InputError, match=r"keys:3: team-a: has no key"):
        keys.reload()


def test_limits_of_keys(tmp_path, monkeypatch):
    path = tmp_path / "keys"
    path.write_text("a:one models=x,y texts_per_second=2.5 # a comment\ntwo texts_per_second=10 models=y\nthree=3\n")
    keys = ApiKeys(str(path), ("x", "y"))
    first, second, third = (keys.find_client(f"Bearer {key}") for key in ("one", "two", "three=3"))
    assert (first.name, first.models, first.texts_per_second) == ("a", ("x", "y"), 2.5)
    assert (second.name, second.models, second.texts_per_second) == ("", ("y",), 10)
    assert third == Client()
    now = 100.0
    monkeypatch.setattr("bert_cli.serving.keys.time.monotonic", lambda: now)
    # One second of texts is free, and a larger request only makes the next one wait.
    assert [second.take_texts(10), second.take_texts(15), second.take_texts(1)] == [0, 0, 2]
    now = 101.5
    assert second.take_texts(5) == 0
    assert third.take_texts(10**6) == 0
    # Copies of explanations count even above the limit.
    now = 200.0
    first.charge(5)
    assert first.take_texts(1) == 1
    first.charge(5)
    assert first.take_texts(1) == 3
    third.charge(5)
    assert third.take_texts(1) == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("one models=", "keys:1: models=: names of models are needed: x, y"),
        ("one models=z", "keys:1: models=z: names of models are needed: x, y"),
        ("one texts_per_second=0", "keys:1: texts_per_second=0: a number above 0 is needed"),
        ("one texts_per_second=many", "keys:1: texts_per_second=many: a number above 0 is needed"),
        ("one models=x,", "keys:1: models=x,: names of models are needed: x, y"),
        ("one speed=1", "keys:1: speed= is unknown; models=A,B or texts_per_second=N is needed"),
        ("a: models=x", "keys:1: a: has no key"),
        ("a: one", "keys:1: a: has no key"),
        ("models=x", "keys:1: models=x: has no key"),
        ("a:one models=x, y", "keys:1: a word after the key is unknown"),
        ("a:one models=x ,y", "keys:1: a word after the key is unknown"),
        ("a:one texts_per_second = 5", "keys:1: a word after the key is unknown"),
        ("a:one two", "keys:1: a word after the key is unknown"),
        ("a:one\u00a0two", "keys:1: a word after the key is unknown"),
        ("team a:one", "keys:1: a word after the key is unknown"),
        ("one models=x models=y", "keys:1: models is there twice"),
        ("a:schl\u00fcssel", "keys:1: a key needs printable characters of ASCII"),
        ("a:one\x07", "keys:1: a key needs printable characters of ASCII"),
        ("# keys\na:one models=x\n\nb:one", "keys:4: has the key of line 2 again"),
    ],
)
def test_wrong_limits(tmp_path, line, message):
    (tmp_path / "keys").write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        ApiKeys(str(tmp_path / "keys"), ("x", "y"))
