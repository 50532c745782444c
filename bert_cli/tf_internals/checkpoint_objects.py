"""The object graph of a checkpoint that TF2's tf.train.Checkpoint or SavedModel wrote; checked with
TensorFlow 2.21.0.
"""

from typing import NamedTuple

from tensorflow.core.protobuf import trackable_object_graph_pb2

# The checkpoint's entry with the graph, a serialized TrackableObjectGraph.
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_VALUE = "VARIABLE_VALUE"


class CheckpointObject(NamedTuple):
    """An object of the graph: its attributes, and, of a variable, its name and the key of its
    values in the checkpoint.
    """

    children: dict[str, int]  # attribute's name -> number of the object
    name: str | None
    key: str | None


def checkpoint_objects(serialized: bytes) -> list[CheckpointObject]:
    """The objects of a checkpoint, the root first; `serialized`: the entry OBJECT_GRAPH."""
    # tf.train.list_variables gives the keys alone; which attribute of which object they are, only
    # this message says.
    graph = trackable_object_graph_pb2.TrackableObjectGraph()
    graph.ParseFromString(serialized)
    return [
        CheckpointObject(
            {child.local_name: child.node_id for child in node.children},
            node.attributes[0].full_name if node.attributes else None,
            next((each.checkpoint_key for each in node.attributes if each.name == _VALUE), None),
        )
        for node in graph.nodes
    ]
