"""Prints the shape of a package: how large its files and functions are, and who imports whom.

python .ci/shape.py [-v] [FOLDER]; -v lists what is counted. With --limits it fails, and says of
what, if the package is larger than it may be: a feature pays for its lines by removing others.
"""

import ast
import collections
import re
import sys
from pathlib import Path

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
VAGUE = ("found", "known", "own", "given", "left", "whole", "kept")  # as names of values
SHORT = 12  # lines of a function
MOST_LINES, MOST_MODULES, MOST_OF_FILE, MOST_OF_FUNCTION = 61_440, 332, 400, 60


def read(package):
  """Returns the text and the parsed code of each module, by its dotted name."""
  modules = {}
  for file in sorted(package.rglob("*.py")):
    parts = file.relative_to(package.parent).with_suffix("").parts
    text = file.read_text(encoding="utf-8")
    modules[".".join(parts).removesuffix(".__init__")] = text, ast.parse(text)
  return modules


def at_import(node):
  """Yields the import statements that run when a module is imported; those for types do not."""
  for inner in ast.iter_child_nodes(node):
    if isinstance(inner, ast.Import | ast.ImportFrom):
      yield inner
    elif not isinstance(inner, FUNCTIONS) and "TYPE_CHECKING" not in ast.dump(inner)[:99]:
      yield from at_import(inner)


def imported(module, nodes, modules):
  """Returns the other modules of the package that import statements of a module name."""
  names = set()
  for node in nodes:
    if isinstance(node, ast.Import):
      names |= {alias.name for alias in node.names}
    elif isinstance(node, ast.ImportFrom):
      inner = {f"{node.module}.{alias.name}" for alias in node.names} & modules.keys()
      names |= inner or {node.module}
  return (names & modules.keys()) - {module}


def longest_chain(imports):
  """Returns the longest chain of modules of which each imports the next."""
  chains = {}

  def chain(name, above):
    if name not in chains:
      below = [chain(x, above | {name}) for x in imports[name] if x not in above | {name}]
      chains[name] = [name, *max(below, key=len, default=[])]
    return chains[name]

  return max((chain(name, frozenset()) for name in imports), key=len)


def with_one_importer(imports):
  """Returns the modules that one other module imports, which is in the same folder."""
  importers = collections.defaultdict(list)
  for name, others in imports.items():
    for other in others:
      importers[other].append(name)
  alone = [(name, others[0]) for name, others in importers.items() if len(others) == 1]
  return [f"{x} < {y}" for x, y in alone if x.rpartition(".")[0] == y.rpartition(".")[0]]


def with_one_client(modules):
  """Returns the short public functions that one other module names, and their own does not."""
  words = {name: set(re.findall(r"\w+", text)) for name, (text, _) in modules.items()}
  names = []
  for module, (text, tree) in modules.items():
    for node in tree.body:
      if (
        isinstance(node, FUNCTIONS)
        and node.name[0] != "_"
        and node.end_lineno - node.lineno < SHORT
      ):
        clients = sum(node.name in words[other] for other in modules if other != module)
        uses = len(re.findall(rf"\b{node.name}\b", text))
        names += [f"{module}.{node.name}"] if clients == 1 and uses == 1 else []
  return names


def named(node):
  """Returns the name that code gives to a function, class, argument or variable; else None."""
  if isinstance(node, ast.Name):
    return node.id if isinstance(node.ctx, ast.Store) else None
  if isinstance(node, ast.arg):
    return node.arg
  return node.name if isinstance(node, (*FUNCTIONS, ast.ClassDef)) else None


def shares(values):
  """Returns the median, the ninth decile and the largest of some numbers, as text."""
  values = sorted(values)
  return f"p50 {values[len(values) // 2]}, p90 {values[len(values) * 9 // 10]}, max {values[-1]}"


def measures(modules):
  """Yields each measure, its figure and what it counts."""
  nodes = [node for _, tree in modules.values() for node in ast.walk(tree)]
  lines = [len(text.splitlines()) for text, _ in modules.values()]
  functions = [node.end_lineno - node.lineno + 1 for node in nodes if isinstance(node, FUNCTIONS)]
  early = {name: imported(name, at_import(tree), modules) for name, (_, tree) in modules.items()}
  every = {name: imported(name, ast.walk(tree), modules) for name, (_, tree) in modules.items()}
  names = [name for name in map(named, nodes) if name]
  vague = collections.Counter(name for name in names if name in VAGUE)
  loads = collections.Counter(node.id for node in nodes if isinstance(node, ast.Name))
  chain, alone, short = longest_chain(early), with_one_importer(every), with_one_client(modules)
  yield "modules", len(lines), ()
  yield "lines", sum(lines), ()
  yield "lines of a module", shares(lines), ()
  yield "lines of a function", shares(functions), ()
  yield "modules that one imports", f"{sum(map(len, every.values())) / len(lines):.2f}", ()
  yield "longest chain of imports", len(chain), chain
  yield "modules with one importer, beside it", len(alone), sorted(alone)
  yield f"public functions of {SHORT} lines with one client", len(short), short
  yield "Any", loads["Any"], ()
  yield "getattr and hasattr", loads["getattr"] + loads["hasattr"], ()
  vague_share = 1000 * vague.total() / len(names)
  yield f"{', '.join(VAGUE)} per 1,000 names", f"{vague_share:.1f}", vague.items()


def code_lines(function):
  """Returns the lines of a function without its docstring, which may be the help of a command."""
  first, lines = function.body[0], function.end_lineno - function.lineno + 1
  is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
  return lines - (first.end_lineno - first.lineno + 1 if is_text else 0)


def beyond(modules):
  """Yields what is larger than it may be."""
  lines = {name: len(text.splitlines()) for name, (text, _) in modules.items()}
  if sum(lines.values()) > MOST_LINES:
    yield f"{sum(lines.values()):,} lines; expected at most {MOST_LINES:,}"
  if len(lines) > MOST_MODULES:
    yield f"{len(lines)} modules; expected at most {MOST_MODULES}"
  for name, (_, tree) in modules.items():
    if lines[name] > MOST_OF_FILE:
      yield f"{name}: {lines[name]} lines; expected at most {MOST_OF_FILE}"
    for node in ast.walk(tree):
      if isinstance(node, FUNCTIONS) and code_lines(node) > MOST_OF_FUNCTION:
        yield f"{name}.{node.name}: more than {MOST_OF_FUNCTION} lines"


def main(arguments):
  """Prints a line for each measure, or for each limit that does not hold."""
  folders = [name for name in arguments if name not in ("-v", "--limits")]
  modules = read(Path(*folders or ["luke_jax"]).resolve())
  if "--limits" in arguments:
    sys.exit("\n".join(beyond(modules)) or None)
  for name, figure, counted in measures(modules):
    print(f"{name:60} {figure}")
    if "-v" in arguments:
      print(*(f"  {x}" for x in counted), sep="\n")


if __name__ == "__main__":
  main(sys.argv[1:])
