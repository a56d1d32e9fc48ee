"""Arguments of a command: parsed by tyro from its function's signature, faults in one line."""

import contextlib
import difflib
import functools
import io
import re
from collections.abc import Callable, Sequence

import tyro
from tyro.conf import DisallowNone, FlagCreatePairsOff
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from luke_jax.errors import InputError, perhaps
from luke_jax.files import Path
from luke_jax.terminal import of_rich

Call = Callable[[], int | None]
Parse = Callable[[Sequence[str]], Call]

# Patterns of tyro's errors, and messages in their place. Other errors are passed on.
FAULTS = (
  (r"Unrecognized options: (\S+?)(,| |$)", r"\1: one argument too many; expected no more"),
  (r"Missing value for argument '([^',]+).* ([2-9]) values", r"\1: too few values; expected \2"),
  (r"Missing value for argument '(?:\(')?([^',]+)", r"\1: no value; expected one"),
  (r"Error parsing (\S+): Could .*? (\[.*?\]).* \1 ([A-Z]+(?: [A-Z]+\b)*)", r"\1: \2; expected \3"),
  (r"Error parsing (\S+): .*?('[^']*') -.* \1 (\w+)", r"\1: \2; expected \3"),
  (r"Error parsing [a-z]+: (.*?) -{9}", r"\1"),  # of options that belong together
)
CHOICE = r"invalid choice '(.*)' for argument '(.+?)'\. .* \((.*?)\)"
# Options of other programs that train, and the field's last name for each.
_USUAL = {
  "--lr": "--learning-rate",
  "--num-train-epochs": "--epochs",
  "--per-device-train-batch-size": "--batch-size",
  "--max-length": "--words",
  "--max-seq-length": "--words",
}
_CERTAIN = 0.73  # likeness from which an option is meant to be one

_REGISTRY = ConstructorRegistry()


@_REGISTRY.primitive_rule
def _path(kind: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Path] | None:
  """Makes paths, of which tyro knows those on a disk."""
  if kind.type is not Path:
    return None
  return PrimitiveConstructorSpec(
    nargs=1,
    metavar="PATH",
    instance_from_str=lambda values: Path(values[0]),
    is_instance=lambda value: isinstance(value, Path),
    str_from_instance=lambda path: [str(path)],
  )


# Options whose values are options themselves, which tyro takes only behind "=".
_OF_OPTIONS = ("--beam-options", "--beam_options")


def _joined(arguments: Sequence[str]) -> list[str]:
  """Returns the arguments with the values of such options behind "="."""
  joined: list[str] = []
  for argument in arguments:
    if joined and joined[-1] in _OF_OPTIONS:
      joined[-1] += f"={argument}"
    else:
      joined.append(argument)
  return joined


def bound(run: Callable[..., int | None], prog: str, arguments: Sequence[str]) -> Call:
  """Returns a call of `run` with the arguments; prints help if asked, and exits with status 0."""

  @functools.wraps(run)
  def bind(*args, **kwargs):
    return functools.partial(run, *args, **kwargs)

  def parse(words: Sequence[str]) -> Call:
    config = (FlagCreatePairsOff, DisallowNone)
    return tyro.cli(bind, prog=prog, args=words, config=config, registry=_REGISTRY)

  arguments = _joined(arguments)
  try:
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(of_rich()):
      return parse(arguments)
  except SystemExit as exit_:
    if not exit_.code:
      raise
  fault = _unknown_option(parse, arguments) or _fault(_printed(parse, arguments))
  raise InputError(f"{fault}; see {prog} --help")


def _printed(parse: Parse, arguments: Sequence[str]) -> str:
  """Returns tyro's printed error, since tyro reports it in no other public way."""
  printed = io.StringIO()
  with (
    contextlib.redirect_stdout(printed),
    contextlib.redirect_stderr(printed),
    contextlib.suppress(SystemExit),
  ):
    parse(arguments)
  return re.sub("[│╭╮╰╯]", " ", printed.getvalue()).replace("─", "-")


def _unknown_option(parse: Parse, arguments: Sequence[str]) -> str | None:
  """Reports the first option that is not in the help; tyro takes it for a value."""
  options = set(re.findall(r"(?<![\w-])--?[a-z][\w.-]*", _printed(parse, ["--help"])))
  for number, argument in enumerate(arguments):
    option = argument.partition("=")[0].replace("_", "-")
    if re.match(r"--?[A-Za-z]", option) and option not in options:
      expected = f"another{perhaps(option, options)}"
      if "--set" in options and not difflib.get_close_matches(option, options, cutoff=_CERTAIN):
        expected = _of_field(option, arguments[number:]) or expected
      return f"{option}: no such option; expected {expected}"
  return None


def _of_field(option: str, arguments: Sequence[str]) -> str | None:
  """Returns the argument that sets a field of an experiment of the name of an option, if any."""
  from luke_jax.runs.recipes import plain_experiment
  from luke_jax.training.overrides import settings

  names = [field.name for field in settings(plain_experiment("ner")) if "." in field.name]
  fields = {f"--{name.rpartition('.')[2].replace('_', '-')}": name for name in reversed(names)}
  near = difflib.get_close_matches(_USUAL.get(option, option), fields, n=1, cutoff=_CERTAIN)
  if not near:
    return None
  _, equals, value = arguments[0].partition("=")
  if not equals and len(arguments) > 1 and not arguments[1].startswith("-"):
    value = arguments[1]
  return f"--set {fields[near[0]]}={value or 'VALUE'}"


def _fault(printed: str) -> str:
  text = printed.partition("For full helptext")[0]
  if "Missing from" in text:
    lines = re.findall(r"^ {6}(\S.*?) *$", text, re.MULTILINE)
    names = re.findall(r"[^{}\n]+(?:\{[^}]*\})?", re.sub(r",\n", ",", "\n".join(lines)))
    return f"{', '.join(names)}: missing; expected {'it' if len(names) == 1 else 'them'}"
  sentence = " ".join(text.split())
  if choice := re.search(CHOICE, sentence):
    value, argument, choices = choice.groups()
    near = perhaps(value, re.findall(r"'([^']*)'", choices))
    return f"{argument}: {value!r}; expected one of {choices}{near}"
  matches = ((re.search(theirs, sentence), ours) for theirs, ours in FAULTS)
  return next((match.expand(ours) for match, ours in matches if match), sentence)
