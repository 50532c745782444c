"""Object graphs of TF2 checkpoints."""

import tensorflow as tf

from bert_cli.tf_internals.checkpoint_objects import OBJECT_GRAPH, checkpoint_objects


def test_object_graph_maps_attributes_to_checkpoint_keys(tmp_path):
    saved = tf.train.Checkpoint(weights={"bert/kernel": tf.Variable([1.0, 2.0], name="own")}, flag=tf.Variable(True))
    reader = tf.train.load_checkpoint(saved.write(str(tmp_path / "saved")))
    root, *descendants = objects = checkpoint_objects(reader.get_tensor(OBJECT_GRAPH))
    assert {"weights", "flag"} <= set(root.children)
    assert (root.name, root.key) == (None, None)
    kernel = objects[objects[root.children["weights"]].children["bert/kernel"]]
    assert kernel.name == "own"
    assert reader.get_tensor(kernel.key).tolist() == [1.0, 2.0]
    assert reader.get_tensor(objects[root.children["flag"]].key)
    assert len([child for child in descendants if child.key]) >= 2
