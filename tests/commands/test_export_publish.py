"""Where an export is put in place: a folder that is not local."""

from bert_cli.exports.publishing import publish


def test_publish_to_a_remote_place(tmp_path):
    """In TensorFlow's own memory: what stood there is gone, and folders within are kept."""
    import tensorflow as tf

    staged = tmp_path / "export"
    (staged / "encoder" / "assets").mkdir(parents=True)
    (staged / "encoder" / "saved_model.pb").write_bytes(b"new")
    (staged / "encoder" / "assets" / "vocab.txt").write_bytes(b"words")
    tf.io.gfile.makedirs("ram://export-test/model")
    with tf.io.gfile.GFile("ram://export-test/model/saved_model.pb", "wb") as file:
        file.write(b"old")
    publish(str(staged), "ram://export-test/model")
    assert tf.io.gfile.listdir("ram://export-test/model") == ["encoder"]
    for name, content in (("saved_model.pb", b"new"), ("assets/vocab.txt", b"words")):
        with tf.io.gfile.GFile(f"ram://export-test/model/encoder/{name}", "rb") as file:
            assert file.read() == content
