"""The object graph of checkpoints written by TF2's tf.train.Checkpoint or as a SavedModel.

Checked with TensorFlow 2.21.0.
"""

from typing import NamedTuple

from tensorflow.core.protobuf import trackable_object_graph_pb2

# The checkpoint entry with the graph, a serialized TrackableObjectGraph.
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_VALUE = "VARIABLE_VALUE"


class CheckpointObject(NamedTuple):
    """An object in the graph: a layer, an optimizer, a variable and so on.

    Attributes:
        children: attribute name -> index of the child in the object list.
        name: a variable's full name; None for other objects.
        key: checkpoint key of the variable's values; None for other objects.
    """

    children: dict[str, int]
    name: str | None
    key: str | None


def checkpoint_objects(serialized: bytes) -> list[CheckpointObject]:
    """Return a checkpoint's objects, root first.

    Args:
        serialized: the checkpoint entry OBJECT_GRAPH.
    """
    # tf.train.list_variables returns only the keys. This message also has the object and the
    # attribute that each key belongs to.
    graph = trackable_object_graph_pb2.TrackableObjectGraph()
    graph.ParseFromString(serialized)
    return [
        CheckpointObject(
            {child.local_name: child.node_id for child in node.children},
            node.attributes[0].full_name if node.attributes else None,
            next((attribute.checkpoint_key for attribute in node.attributes if attribute.name == _VALUE), None),
        )
        for node in graph.nodes
    ]
