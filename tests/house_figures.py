"""Figures of the package's structure: reach of imports, modules per room, rules written as code.

`python -m tests.house_figures [CHECKOUT]` prints them for a checkout, which may be older than this
file. tests/tree/structure.py has the limits of reach.
"""

import ast
import functools
import pathlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = "bert_cli"
# Name in the output -> module that a reader starts from.
ENTRIES = {
    "import bert_cli": "bert_cli.__init__",
    "keras.Encoder": "bert_cli.keras.encoder",
    "text.tokenization": "bert_cli.text.tokenization",
    "vocab.txt": "bert_cli.opening.vocab_file",
    "api.Tokenizer": "bert_cli.api.tokenizer",
    "bert-tokenize": "bert_cli.tokenize_text",
    "bert-serve": "bert_cli.serve",
    "bert-classify": "bert_cli.run_classifier",
    "api.Classifier": "bert_cli.api.classifier",
}
INFERENCE = ("runs/engine", "runs/extraction", "engines", "inference", "runs/tasks/fill_mask_session.py")
RUN_DIRECTORY = ("runs/output_dir", "runs/run_directory", "run_directory")
# Functions that choose a checkpoint, in this version and in older ones.
CHOICES = {"to_start_from", "to_resume", "to_use"}
OLDER_CHOICES = {
    "named_checkpoint", "training_start", "ready_checkpoint", "encoder_checkpoint", "trained_checkpoint",
    "trained_folder", "choose_checkpoint", "find_trained_model", "find_checkpoint", "latest_checkpoint", "find_model",
}  # fmt: skip
MAX_CHECK_LINES = 15
MAX_METHODS = 13  # Classifier: each is a thing that its user does
MUTATORS = {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"}
PROBLEM_TYPE = "ProblemType"
# Starts and ends of names that ask for a kind, whatever their type is.
QUESTIONS = re.compile(r"(check|refuse|require)_|.*_refusal$")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@functools.cache
def parse_source(source: str) -> ast.Module:
    """Return a source text's syntax tree; cached, because many figures need it."""
    return ast.parse(source)


def walk(tree: ast.AST) -> list[ast.AST]:
    """Return all nodes in the order of ast.walk, which takes seconds for all files."""
    nodes = [tree]
    for node in nodes:  # the list grows in the loop
        for value in vars(node).values():
            if isinstance(value, ast.AST):
                nodes.append(value)
            elif isinstance(value, list):
                nodes.extend(child for child in value if isinstance(child, ast.AST))
    return nodes


@functools.cache
def nodes_of(source: str) -> list[ast.AST]:
    """Return all nodes in a source text's syntax tree; cached like the tree."""
    return walk(parse_source(source))


@functools.cache
def imports(module: str, source: str) -> list[tuple[int, str, bool]]:
    """Return (line, dotted name, inside a function) per import.

    For `from a import b` the name is a.b.
    """
    import_list: list[tuple[int, str, bool]] = []

    def visit(node: ast.AST, inside: bool) -> None:
        if isinstance(node, ast.Import):
            import_list.extend((node.lineno, alias.name, inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = module.split(".")[: -node.level] if node.level else []
            base = ".".join(package + ([node.module] if node.module else []))
            import_list.extend((node.lineno, f"{base}.{alias.name}", inside) for alias in node.names)
        elif isinstance(node, ast.Call) and _last_name(node.func).endswith(("import_module", "__import__")):
            import_list.extend(
                (node.lineno, str(a.value), inside) for a in node.args[:1] if isinstance(a, ast.Constant)
            )
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            visit(child, inside)

    visit(parse_source(source), False)
    return import_list


def _last_name(function: ast.expr) -> str:
    """Return the last name of a called function, such as "read" for `table.read`, or ""."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def lines_of(function: Function) -> int:
    """Return the number of a function's lines after the first, without its docstring."""
    lines = (function.end_lineno or function.lineno) - function.lineno
    if ast.get_docstring(function) is not None:
        lines -= (function.body[0].end_lineno or 0) - function.body[0].lineno + 1
    return lines


class Checkout:
    """The package's modules in one checkout."""

    def __init__(self, root: pathlib.Path):
        """List the modules below `root`."""
        self.root = root
        self.modules = {
            ".".join(path.relative_to(root).with_suffix("").parts): path
            for path in sorted((root / PACKAGE).rglob("*.py"))
        }

    @functools.cache  # noqa: B019 (a checkout lives as long as the process)
    def text(self, path: str) -> str:
        """Return the text of a file, given by its path below the root."""
        return (self.root / path).read_text(encoding="utf-8")

    def paths(self, *patterns: str) -> list[str]:
        """Return the sorted paths below the root of all files that match glob patterns."""
        paths = (path for pattern in patterns for path in self.root.glob(pattern) if path.is_file())
        return sorted({path.relative_to(self.root).as_posix() for path in paths if path.suffix != ".pyc"})

    def place(self, path: str, words: str) -> str:
        """Return "path:line" for the first line of a file that has `words`, or for its first line."""
        lines = self.text(path).split("\n") if (self.root / path).is_file() else []
        return f"{path}:{next((number for number, line in enumerate(lines, 1) if words in line), 1)}"

    def path_of(self, module: str) -> str:
        """Return the path below the root of a module."""
        return self.modules[module].relative_to(self.root).as_posix()

    @functools.cache  # noqa: B019 (a checkout lives as long as the process)
    def read(self, module: str) -> str:
        """Return a module's source text."""
        return self.modules[module].read_text(encoding="utf-8")

    def tree(self, module: str) -> ast.Module:
        """Return a module's syntax tree."""
        return parse_source(self.read(module))

    def below(self, *places: str) -> list[str]:
        """Return the modules in rooms and files, given as paths below the package."""
        roots = [self.root / PACKAGE / place for place in places]
        return [module for module, path in self.modules.items() if any(root in (path, *path.parents) for root in roots)]

    @functools.cached_property
    def arrows(self) -> dict[str, set[str]]:
        """Return each module's imported modules.

        The package of an imported module counts too, if its __init__.py has statements. The root
        package is left out: every module imports it, and it has an own limit.
        """
        without_code = {
            module for module in self.modules if module.endswith(".__init__") and not _statements(self.tree(module))
        }
        arrows = {}
        for module in self.modules:
            names = {name for _, name, _ in imports(module, self.read(module)) if f"{name}.".startswith(f"{PACKAGE}.")}
            arrows[module] = {target for name in names for target in self._targets(name)} - without_code - {module}
        return arrows

    def _targets(self, name: str) -> Iterator[str]:
        words = name.split(".")
        for end in range(2, len(words) + 1):
            path = ".".join(words[:end])
            yield from (target for target in (path, f"{path}.__init__") if target in self.modules)

    def reach(self, entry: str) -> set[str]:
        """Return the modules that a module's import statements lead to, without the module itself.

        Imports in functions and imports only for types count too, because a reader has to follow
        them.
        """
        reached: set[str] = set()
        remaining = [entry]
        while remaining:
            module = remaining.pop()
            if module not in reached:
                reached.add(module)
                remaining.extend(self.arrows[module] - reached)
        return reached - {entry}

    def nodes(self, kind: type | tuple[type, ...], modules: list[str] | None = None) -> Iterator[ast.AST]:
        """Yield the syntax nodes of a kind in all modules, or in those listed."""
        for module in self.modules if modules is None else modules:
            yield from (node for node in nodes_of(self.read(module)) if isinstance(node, kind))

    def functions(self, modules: list[str] | None = None) -> Iterator[Function]:
        """Yield all functions and methods, or those of the listed modules."""
        yield from self.nodes((ast.FunctionDef, ast.AsyncFunctionDef), modules)

    def lines(self, modules: list[str]) -> int:
        """Return the number of lines in modules."""
        return sum(len(self.read(module).splitlines()) for module in modules)

    def size(self, *places: str) -> str:
        """Return the number of modules and lines in rooms and files."""
        modules = self.below(*places)
        named = [module for module in modules if not module.endswith(".__init__")]
        return f"{len(named)} modules, {self.lines(modules)} lines"


def _statements(tree: ast.Module) -> list[ast.stmt]:
    return [node for node in tree.body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]


HOUSE = Checkout(ROOT)


def room_arrows(checkout: Checkout) -> str:
    """Return the number of imports between rooms, and how many listed ones are unused."""
    rooms = {module: _room(checkout.modules[module], checkout.root) for module in checkout.modules}
    used = {(rooms[module], rooms[name]) for module, names in checkout.arrows.items() for name in names}
    used = {(room, imported) for room, imported in used if room != imported}
    table = checkout.root / "tests" / "tree" / "structure.py"
    listed = _listed_arrows(table if table.exists() else checkout.root / "tests" / "test_structure.py")
    unused = "no exact list" if listed is None else f"{len(listed - used)} listed ones are unused"
    ground = {"base", "runtime", ""}
    return f"{len({arrow for arrow in used if arrow[1] not in ground})} without the ground, {unused}"


def _room(path: pathlib.Path, root: pathlib.Path) -> str:
    return ".".join(path.parent.relative_to(root / PACKAGE).parts)


def _listed_arrows(path: pathlib.Path) -> set[tuple[str, str]] | None:
    """Return the arrows in the table of a checkout's check, or None if the check has no such table."""
    for node in parse_source(path.read_text(encoding="utf-8")).body:
        is_table = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_ARROWS"
        if is_table and isinstance(node.value, ast.Constant):
            table = str(node.value.value).replace("\n    ", " ")
            rows = [line.partition(":") for line in table.split("\n") if line]
            pairs = {(room, imported) for room, _, names in rows for imported in names.split()}
            return {("" if room in ("commands", "package") else room, imported) for room, imported in pairs}
    return None


def lookups(checkout: Checkout) -> int:
    """Return the number of `values["…"]`; items of lists, such as values[0], do not count."""
    return sum(
        ast.unparse(node.value) == "values"
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
        for node in checkout.nodes(ast.Subscript)
    )


def long_checks(checkout: Checkout) -> str:
    """Return the number of functions named check or check_… with more lines than allowed."""
    names = [node.name for node in checkout.functions() if lines_of(node) > MAX_CHECK_LINES]
    return f"{names.count('check')}, and {sum(name.startswith('check_') for name in names)} check_… functions"


def folder_parameters(checkout: Checkout) -> int:
    """Return the number of parameters `folder: str` in runs/."""
    parameters = (_parameters(node) for node in checkout.functions(checkout.below("runs")))
    return sum(
        argument.arg == "folder" and argument.annotation is not None and "str" in ast.unparse(argument.annotation)
        for arguments in parameters
        for argument in arguments
    )


def checkpoint_choices(checkout: Checkout) -> str:
    """Return the names of functions that choose a checkpoint."""
    names = {node.name for node in checkout.functions()}
    older = sorted(names & OLDER_CHOICES)
    return f"{len(names & CHOICES)} by intent, {len(older)} others: {', '.join(older)}"


def untyped_values(checkout: Checkout) -> int:
    """Return the number of lines with dict[str, Any]."""
    return sum("dict[str, Any]" in line for module in checkout.modules for line in checkout.read(module).splitlines())


def public_methods(checkout: Checkout) -> dict[str, set[str]]:
    """Return the public methods and properties of each class, own and inherited ones.

    The keys are dotted names. Methods from classes outside the package do not count.
    """
    classes = {
        f"{module}.{node.name}": (module, node)
        for module in checkout.modules
        for node in nodes_of(checkout.read(module))
        if isinstance(node, ast.ClassDef)
    }

    def collect(name: str) -> set[str]:
        if name not in classes:
            return set()
        module, node = classes[name]
        methods = {part.name for part in node.body if isinstance(part, Function) and not part.name.startswith("_")}
        imported = {dotted.rpartition(".")[2]: dotted for _, dotted, _ in imports(module, checkout.read(module))}
        bases = [ast.unparse(base).partition("[")[0] for base in node.bases]
        return methods.union(*(collect(imported.get(base, f"{module}.{base}")) for base in bases))

    return {name: collect(name) for name in classes}


def large_classes(checkout: Checkout) -> str:
    """Return the classes with more public methods than allowed."""
    counts = {name.rpartition(".")[2]: len(methods) for name, methods in public_methods(checkout).items()}
    large = {name: count for name, count in counts.items() if count > MAX_METHODS}
    return f"{len(large)} {', '.join(f'{name} {count}' for name, count in sorted(large.items()))}"


def abilities(checkout: Checkout) -> set[str]:
    """Return the names of members by which a problem type or its parts can be told apart.

    They are truth values, methods that return one, and methods and texts that refuse. The parts are
    the classes that a problem type's members and their members name, and the classes derived from
    these.
    """
    classes = {node.name: node for node in checkout.nodes(ast.ClassDef, checkout.below("problem_types"))}
    parts = {PROBLEM_TYPE}
    while True:
        named = {name for part in parts & classes.keys() for name in _named_classes(classes[part])}
        derived = {name for name, node in classes.items() if parts & set(map(ast.unparse, node.bases))}
        if named | derived <= parts:
            return {member for part in parts & classes.keys() for member in _questions(classes[part])}
        parts |= named | derived


def _named_classes(node: ast.ClassDef) -> set[str]:
    """Return the class names that a class's fields and methods are annotated with."""
    fields = [member.annotation for member in node.body if isinstance(member, ast.AnnAssign)]
    results = [member.returns for member in node.body if isinstance(member, Function) and member.returns is not None]
    return {name for annotation in (*fields, *results) for name in re.findall(r"\w+", ast.unparse(annotation))}


def _questions(node: ast.ClassDef) -> Iterator[str]:
    for member in node.body:
        if isinstance(member, Function):
            returns_truth = member.returns is not None and ast.unparse(member.returns) == "bool"
            names = [member.name] if returns_truth or QUESTIONS.match(member.name) else []
        elif isinstance(member, ast.AnnAssign):
            names = [ast.unparse(member.target)]
            names = names if ast.unparse(member.annotation) == "bool" or QUESTIONS.match(names[0]) else []
        elif isinstance(member, ast.Assign):
            is_truth = isinstance(member.value, ast.Constant) and isinstance(member.value.value, bool)
            targets = map(ast.unparse, member.targets)
            names = [target for target in targets if is_truth or QUESTIONS.match(target)]
        else:
            names = []
        yield from (name for name in names if not name.startswith("__"))


def capability_places(checkout: Checkout) -> list[tuple[str, str]]:
    """Return (path:line, question) wherever code outside problem_types/ asks for the kind.

    It asks with one of the `abilities`, with a comparison to a certain type or its name, or with
    isinstance.
    """
    inside = checkout.below("problem_types")
    names, classes = abilities(checkout), {node.name for node in checkout.nodes(ast.ClassDef, inside)}
    types = {
        target
        for module in inside
        for node in checkout.tree(module).body
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith(f"{PROBLEM_TYPE}(")
        for target in map(ast.unparse, node.targets)
    }
    places = []
    for module in sorted(set(checkout.modules).difference(inside)):
        for node in nodes_of(checkout.read(module)):
            question = _question(node, names, types, classes)
            if question:
                places.append((f"{checkout.path_of(module)}:{getattr(node, 'lineno', 1)}", question))
    return places


def _question(node: ast.AST, names: set[str], types: set[str], classes: set[str]) -> str:
    """Return the question that a node asks, or ""."""
    if isinstance(node, ast.Attribute):
        return node.attr if node.attr in names else ""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        values = [value for side in sides for value in getattr(side, "elts", [side])]
        # A name, its attribute such as MULTI_LABEL.name, or the spelling in --problem_type.
        words = {ast.unparse(value).partition(".")[0].strip("'").upper() for value in values}
        return next(iter(sorted(words & types)), "")
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
        words = set(re.findall(r"\w+", ast.unparse(node.args[1])))
        return "isinstance" if words & classes else ""
    return ""


def capability_questions(checkout: Checkout) -> str:
    """Return how often code outside problem_types/ asks for a problem type's kind, by question."""
    counts = Counter(question for _, question in capability_places(checkout))
    return f"{counts.total()}: {', '.join(f'{name} {count}' for name, count in counts.most_common())}"


def module_state(checkout: Checkout) -> str:
    """Return the module-level names that functions change, in their module or in others."""
    names = sorted({name for module in checkout.modules for name in _changed_names(checkout, module)})
    return f"{len(names)}: {', '.join(names)}"


def _changed_names(checkout: Checkout, module: str) -> set[str]:
    """Return names at a module's top that its functions rebind, index or change by a method."""
    tree = checkout.tree(module)
    top = {
        name.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    constants = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE)
        for alias in node.names
        if alias.name.isupper()
    }
    changed: set[str] = set()
    for function in ast.walk(tree):
        if isinstance(function, Function):
            changed |= _changes(function, top | constants)
    return changed


def _changes(function: Function, names: set[str]) -> set[str]:
    changed: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Global):
            changed |= set(node.names)
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            changed.add(ast.unparse(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
            changed.add(ast.unparse(node.func.value))
    local = {
        node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    } - {name for node in ast.walk(function) if isinstance(node, ast.Global) for name in node.names}
    return (changed - local - {argument.arg for argument in _parameters(function)}) & names


def _parameters(function: Function) -> list[ast.arg]:
    arguments = function.args
    others = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *others]


def untyped_functions(checkout: Checkout) -> str:
    """Return the number of functions without types for a parameter or for the result."""
    functions = list(checkout.functions())
    untyped = [
        function
        for function in functions
        if any(
            argument.annotation is None and argument.arg not in ("self", "cls") for argument in _parameters(function)
        )
        or (function.returns is None and (function.name != "__init__" or len(_parameters(function)) == 1))
    ]
    return f"{len(untyped)} of {len(functions)}"


def untested_runs(checkout: Checkout) -> str:
    """Return the number of modules in runs/ without a test file at the same path below tests/."""
    modules = [checkout.modules[module] for module in checkout.below("runs") if not module.endswith(".__init__")]
    paths = [path.relative_to(checkout.root / PACKAGE) for path in modules]
    untested = [
        path for path in paths if not list((checkout.root / "tests" / path.parent).glob(f"test_{path.stem}*.py"))
    ]
    return f"{len(untested)} of {len(paths)}"


FIGURES: dict[str, Callable[[Checkout], object]] = {
    "arrows between rooms": room_arrows,
    **{
        f"reach of {name}": (lambda checkout, module=module: len(checkout.reach(module)))
        for name, module in ENTRIES.items()
    },
    "inference": lambda checkout: checkout.size(*INFERENCE),
    'lookups values["…"]': lookups,
    f"check() with more than {MAX_CHECK_LINES} lines": long_checks,
    "run directory": lambda checkout: checkout.size(*RUN_DIRECTORY),
    "parameters folder: str in runs": folder_parameters,
    "functions that choose a checkpoint": checkpoint_choices,
    "lines with dict[str, Any]": untyped_values,
    f"classes with more than {MAX_METHODS} public methods": large_classes,
    "questions for the kind of a problem type": capability_questions,
    "tasks/classification": lambda checkout: checkout.size("runs/tasks/classification"),
    "module-level names that functions change": module_state,
    "functions without types": untyped_functions,
    "modules of runs without a unit test": untested_runs,
}


def room_sizes(checkout: Checkout) -> dict[str, tuple[int, int]]:
    """Return (modules, lines) per room, and the sum under "total"; the commands' room is "commands"."""
    modules: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for module, path in checkout.modules.items():
        for room in (_room(path, checkout.root) or "commands", "total"):
            modules[room] += path.name != "__init__.py"
            lines[room] += checkout.lines([module])
    return {room: (modules[room], lines[room]) for room in sorted(lines, key=lambda room: (room == "total", room))}


def main(arguments: list[str]) -> None:
    """Print all figures, one per line."""
    checkout = Checkout(pathlib.Path(arguments[0]).resolve()) if arguments else HOUSE
    for name, measure in FIGURES.items():
        print(f"{name:42} {measure(checkout)}")
    print(f"\n{'room':28} {'modules':>7} {'lines':>6}")
    for room, (modules, lines) in room_sizes(checkout).items():
        print(f"{room:28} {modules:7} {lines:6}")


if __name__ == "__main__":
    main(sys.argv[1:])
