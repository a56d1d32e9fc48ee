"""`luke-jax push`."""

from typing import Annotated

from tyro.conf import Positional, arg

from luke_jax.cli.printing import stderr_console
from luke_jax.convert.adapters import is_adapter_directory
from luke_jax.convert.reading import push, read
from luke_jax.convert.tensors import Dtype
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.runs.models import backbone_of, model_directory


def run(
  source: Annotated[Path, Positional, arg(metavar="MODEL")],
  name: Annotated[str, Positional, arg(metavar="OWNER/NAME")],
  /,
  *,
  public: bool = False,
  dry_run: bool = False,
  adapter: bool = False,
  dtype: Dtype = "float32",
  backbone: Path | None = None,
) -> None:
  """Sends a model with its card to Hugging Face's hub, where it is private unless you say --public.

  What is sent is what `model.save` writes, and --dry-run lists it. One that is there already keeps
  its visibility, and loses the files of an earlier model. Your token is that of `hf auth login`, or
  HF_TOKEN.

      luke-jax push runs/ner me/names --dry-run
      luke-jax push runs/ner me/names

  Args:
    source: Directory or name of a model, or the folder of a run.
    name: The owner, which is you or an organisation of yours, and the model's name there.
    public: Lets everyone see a model that is new.
    dry_run: Lists the files and sends nothing.
    adapter: Sends an adapter as it is, for luke_jax alone, instead of a whole model.
    dtype: Type of the weights of a whole model.
    backbone: Directory of the backbone of an adapter, if luke-jax get does not know it.
  """
  directory = model_directory(source)
  if adapter and not is_adapter_directory(directory):
    raise InputError(f"--adapter: {source} is a whole model; expected an adapter")
  model = read(directory, backbone=backbone or backbone_of(source))
  with stderr_console().status(f"{'listing' if dry_run else 'sending'} {name}"):
    sent = push(model, name, public=public, dry_run=dry_run, adapter=adapter, dtype=dtype)
  for file, size in sent.files.items():
    print(f"{size:>15,}  {file}")
  print(f"{sum(sent.files.values()):>15,}  bytes, {sent.address or 'none of which were sent'}")
