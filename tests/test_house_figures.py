"""Figures of the package's structure, for a small package."""

import pytest

from tests.house_figures import (
    Checkout,
    abilities,
    capability_places,
    lookups,
    module_state,
    public_methods,
    room_sizes,
)

FILES = {
    "__init__.py": "from bert_cli.base import names\n",
    "base/__init__.py": '"""Without code."""\n',
    "base/names.py": "NAMES = {}\n\ndef put(name):\n    NAMES[name] = 1\n",
    "text/__init__.py": "from bert_cli.base import names\n",
    "text/words.py": "def f():\n    from bert_cli.base.names import put\n",
    "problem_types/a.py": "class A:\n    def read(self): ...\n    @property\n    def name(self): ...\n    def _f(self): ...\n",
    "problem_types/b.py": "from bert_cli.problem_types.a import A\nclass B(A[int], dict):\n    def write(self): ...\n",
    "start.py": "if TYPE_CHECKING:\n    from bert_cli.text.words import f\nisinstance(f, A)\nisinstance(f, dict)\n",
    "bystander.py": "import json\nvalues['a'] = values[0] or values['b']\n",
}


@pytest.fixture
def checkout(tmp_path):
    for name, source in FILES.items():
        path = tmp_path / "bert_cli" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, "utf-8")
    return Checkout(tmp_path)


def test_reach_includes_types_functions_and_packages_with_code(checkout):
    reached = {"bert_cli.text.words", "bert_cli.text.__init__", "bert_cli.base.names"}
    assert checkout.reach("bert_cli.start") == reached
    assert checkout.reach("bert_cli.__init__") == {"bert_cli.base.names"}
    assert checkout.reach("bert_cli.bystander") == set()


def test_changed_names(checkout):
    assert module_state(checkout) == "1: NAMES"


TYPES = """
class Rows(NamedTuple):
    are_sorted: bool

class Reader:
    is_fast = False
    shape = ()
    def rows(self) -> Rows: ...
    def can_read(self, path) -> bool: ...
    def check_rows(self): ...

class FastReader(Reader):
    loss_refusal = ""

class Other:
    is_other = True

class ProblemType:
    name: str
    is_plain: bool
    reader: Reader | None

PLAIN = ProblemType(name="plain")
"""
USES = """
from bert_cli.problem_types.types import PLAIN, FastReader
t.is_plain, t.reader.is_fast, t.reader.shape, t.is_other, t.reader.can_read(p), t.reader.rows().are_sorted
t.reader.check_rows()
t is PLAIN
t.name in (None, PLAIN.name)
t.name == "plain"
t.name == PLAINER
isinstance(t.reader, FastReader)
"""


def test_questions_for_the_kind_of_a_problem_type(tmp_path):
    for name, source in {"problem_types/types.py": TYPES, "uses.py": USES}.items():
        path = tmp_path / "bert_cli" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, "utf-8")
    tree = Checkout(tmp_path)
    assert abilities(tree) == {"is_plain", "is_fast", "can_read", "check_rows", "loss_refusal", "are_sorted"}
    lines = [place.rpartition(":")[2] for place, _ in capability_places(tree)]
    assert sorted(lines, key=int) == ["3", "3", "3", "3", "4", "5", "6", "7", "9"]


def test_lookups_are_by_name(checkout):
    assert lookups(checkout) == 2


def test_public_methods_include_inherited_ones_and_properties(checkout):
    methods = public_methods(checkout)
    assert methods["bert_cli.problem_types.a.A"] == {"read", "name"}
    assert methods["bert_cli.problem_types.b.B"] == {"read", "name", "write"}


def test_rooms_have_modules_and_lines(checkout):
    assert room_sizes(checkout)["text"] == (1, 3)
    assert room_sizes(checkout)["total"] == (6, 23)
