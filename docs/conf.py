"""Settings of the documentation site: `make docs` builds it from the pages as they are.

The pages are plain Markdown that a git host shows too, so what only a site has is here: the
order of the pages, and the way to files of the repository that are no pages.
"""

import os
import re
import shutil
from importlib.metadata import version as installed
from pathlib import Path

from docutils import nodes

ROOT = Path(__file__).parents[1]
REPOSITORY = "https://github.com/luke-jax/luke_jax"
# By reader. A page that is not named here ends the chapter of its folder.
CHAPTERS = {
  "First minutes": "docs/README docs/howto/install docs/english docs/python docs/pictures",
  "Your own data": """docs/howto/own-data docs/howto/label-studio docs/howto/nested
    docs/howto/labels docs/howto/few-shot-ner docs/howto/triples docs/howto/linking
    docs/howto/own-entities docs/howto/classify-texts docs/howto/tags-or-spans docs/howto/fast-ner
    docs/howto/long-documents docs/howto/offsets docs/howto/adapters docs/howto/mluke
    docs/howto/trackers docs/howto/from-flax""",
  "In production": """docs/howto/corpus docs/howto/serving docs/howto/onnx docs/howto/spacy
    docs/howto/uploading docs/howto/quantization docs/howto/without-torch""",
  "Understand": """docs/tutorial docs/models docs/text docs/tasks docs/pretraining docs/milliseconds
    docs/graph docs/ernie-thu docs/ernie-baidu docs/tener docs/ma-bert docs/mluke-evaluations
    docs/wiki-samples docs/paper docs/differences""",
  "Run on TPUs": """docs/plan docs/training docs/pods experiments/launch/README
    docs/howto/bert-on-tpu docs/howto/paper-numbers docs/howto/own-corpus docs/howto/your-language
    docs/howto/buckets experiments/README experiments/results""",
  "Extend": "docs/howto/own-task docs/howto/own-system docs/architecture CONTRIBUTING",
  "Notebooks": "colab/README",
  "Reference": """docs/cli docs/cli/first docs/cli/tasks docs/cli/models docs/cli/wikipedia
    docs/cli/graphs docs/cli/experiments docs/api docs/formats docs/glossary
    docs/alternatives docs/status docs/measurements docs/stability SECURITY docs/releasing
    CHANGELOG""",
}
OF_FOLDERS = {
  "docs/howto": "Your own data",
  "docs": "Understand",
  "colab": "Notebooks",
  "experiments": "Run on TPUs",
}
# Words of the glossary that mean nothing else on a page: the first of each leads there.
TERMS = (
  *("adapter", "backbone", "checkpoint", "corpus", "entity vocabulary", "entity-aware attention"),
  *("ledger", "mention", "model directory", "recipe", "shard", "span", "triple"),
)
GLOSSARY = "docs/glossary"
WITHOUT_TERMS = (GLOSSARY, "docs/api", "docs/cli", "docs/measurements", "CHANGELOG")
# Pages of the site load nothing from elsewhere: a notebook's badge is its words.
BADGE = re.compile(r"!\[([^\]]*)\]\(https?://[^)\s]+\)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)

project = "luke_jax"
author = "The luke_jax authors"
version = release = installed("luke_jax")
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
root_doc = "README"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
include_patterns += [
  "docs/**",
  "colab/**",
  "experiments/*.md",
  "experiments/**/*.md",
  "data/*/README.md",
]
exclude_patterns = ["docs/_build", ".*", "**/__pycache__", "tests", "luke_jax"]
exclude_patterns += ["runs", "results", "demo", "datasets", "build", "dist"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb", ".rst": "restructuredtext"}
myst_heading_anchors = 4  # as a code host names them
# By `make docs-with-notebooks` they are run, and what they show is kept until their cells change.
nb_execution_mode = os.environ.get("NOTEBOOKS", "off")
nb_execution_cache_path = str(ROOT / ".cache" / "notebooks")
nb_execution_timeout = -1
nb_execution_raise_on_error = True
nb_merge_streams = True
default_role = "code"  # of names in docstrings
highlight_language = "text"  # of blocks that name none
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 80
pygments_dark_style = "github-dark"
html_theme = "furo"
html_title = f"luke_jax {release}"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
  "source_repository": REPOSITORY,
  "source_branch": "main",
  "top_of_page_buttons": ["view"],
}


def setup(app):
  """Registers what is done to pages as they are read, and once all are written."""
  app.connect("source-read", read)
  app.connect("doctree-read", mark_terms)
  app.connect("doctree-resolved", link_terms)
  app.connect("autodoc-skip-member", is_field)
  app.connect("autodoc-process-signature", parsable)
  app.connect("build-finished", write_index)


def mark_terms(app, doctree):
  """Gives each word of the glossary a place that links lead to."""
  if app.env.docname != GLOSSARY:
    return
  rows = {row: row[0].astext().split(", ") for row in doctree.findall(nodes.row)}
  for row, words in rows.items():
    row[0]["ids"] += [f"term-{nodes.make_id(word)}" for word in words]
  unknown = set(TERMS).difference(*rows.values())
  assert not unknown, f"{GLOSSARY}: no row for {unknown}"


def link_terms(app, doctree, page):
  """Links the first of each of TERMS on a page with its row of the glossary."""
  if page.startswith(("colab/", "data/", "docs/cli/")) or page in WITHOUT_TERMS:
    return
  glossary = app.builder.get_relative_uri(page, GLOSSARY)
  for term in TERMS:
    word = re.compile(rf"\b{term}s?\b", re.IGNORECASE)
    for text in doctree.findall(nodes.Text):
      found = word.search(text)
      if found and isinstance(text.parent, nodes.paragraph):
        address = f"{glossary}#term-{nodes.make_id(term)}"
        link = nodes.reference("", found[0], internal=True, refuri=address, classes=["term"])
        before, after = nodes.Text(text[: found.start()]), nodes.Text(text[found.end() :])
        text.parent.replace(text, [before, link, after])
        break


def is_field(app, kind, name, member, skip, options):
  """Leaves out fields of named tuples, which the signatures have, with no docstring of ours."""
  return True if str(member.__doc__).startswith("Alias for field number") else None


def parsable(app, kind, name, member, options, signature, result):
  """Returns a signature whose defaults made by a factory are dots, so that it is laid out."""
  return signature and signature.replace("<factory>", "..."), result


def read(app, page, source):
  """Gives links that leave the site their addresses, and the first page the order of all."""
  text = BADGE.sub(r"\1", source[0])
  if not page.startswith("colab/") or page == "colab/README":
    parts = CODE.split(text)
    parts[::2] = [LINK.sub(lambda found: link(app.env, page, found), part) for part in parts[::2]]
    text = "".join(parts)
  if page == root_doc:
    app.env.note_reread()  # pages may come and go
    text += "".join(map(toctree, *zip(*chapters(app.env.found_docs).items(), strict=True)))
  source[0] = text


def link(env, page, found):
  """Returns a link of a page, to the repository where it leads to a file that is no page."""
  path, hash_, heading = found[1].partition("#")
  target = (ROOT / page).parent / path
  is_page = env.path2doc(str(target.resolve())) in env.found_docs
  if not path or ":" in path or is_page or target.suffix in (".png", ".svg") or not target.exists():
    return found[0]
  kind = "tree" if target.is_dir() else "blob"
  place = target.resolve().relative_to(ROOT).as_posix()
  return f"]({REPOSITORY}/{kind}/main/{place}{hash_}{heading})"


def chapters(pages):
  """Returns the pages of each chapter, without those that are not there (yet)."""
  order = {title: names.split() for title, names in CHAPTERS.items()}
  order = {title: [page for page in names if page in pages] for title, names in order.items()}
  for page in sorted(pages - set(sum(order.values(), [root_doc]))):
    order[OF_FOLDERS.get(str(Path(page).parent), "Reference")].append(page)
  return order


def toctree(title, pages):
  """Returns a chapter as MyST reads it."""
  lines = [f"```{{toctree}}\n:hidden:\n:caption: {title}", *pages, "```"]
  return "\n\n" + "\n".join(lines) + "\n"


def write_index(app, fault):
  """Makes the first page that of the folder, too."""
  if not fault and app.builder.name == "html":
    shutil.copy(app.outdir / f"{root_doc}.html", app.outdir / "index.html")
