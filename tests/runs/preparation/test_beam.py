"""Files that each machine must see."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.runs.preparation.beam import check_reachable


def test_dataflow_does_not_see_local_files():
    check_reachable("direct", ["/a"], ["/b"])
    check_reachable("dataflow", ["gs://a"], ["gs://b"])
    with pytest.raises(InputError, match=r"^/b: --runner=dataflow works on machines that do not see it; give gs://"):
        check_reachable("dataflow", ["gs://a"], ["/b"])
