"""Files in folders."""

from bert_cli.reading.folder import find_documents, find_existing, find_skipped


def test_the_first_path_that_exists(tmp_path):
    paths = [str(tmp_path / name) for name in ("a", "b", "c")]
    assert find_existing(paths) is None
    (tmp_path / "b").touch()
    (tmp_path / "c").touch()
    assert find_existing(paths) == paths[1]


def test_documents_are_pairs_of_files(tmp_path):
    for name in ("a.txt", "a.ann", "b.txt", ".c.txt", "d.ann"):
        (tmp_path / name).touch()
    assert find_documents(str(tmp_path)) == [str(tmp_path / name) for name in "ab"]
    assert find_documents(str(tmp_path / "a.txt")) == find_documents(str(tmp_path / "a.ann")) == [str(tmp_path / "a")]
    assert find_documents(str(tmp_path / "b.txt")) == []
    assert find_skipped(str(tmp_path)) == ["d.ann"]
