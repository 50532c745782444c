"""Files that each machine must see."""

from bert_cli.base.errors import InputError
from bert_cli.runs.preparation.beam import check_reachable
from tests.snapshots import raises


def test_dataflow_does_not_see_local_files():
    check_reachable("direct", ["/a"], ["/b"])
    check_reachable("dataflow", ["gs://a"], ["gs://b"])
    with raises(InputError, "/b: "):
        check_reachable("dataflow", ["gs://a"], ["/b"])
