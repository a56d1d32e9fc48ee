"""Builds the site of every version, each in its folder, with links from each page to the others'.

`python docs/versions.py` makes `latest` of the checkout and `0.1`, `0.2`, … of the last tag of
each; `python docs/versions.py latest=FOLDER 0.1=FOLDER` of folders. A tag is built once. Pages hold
the links as HTML, so they need no script and no server.
"""

import argparse
import re
import shutil
import subprocess
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
LATEST = "latest"
TAG, GIVEN = re.compile(r"v(\d+)\.(\d+)\.(\d+)"), re.compile(r"(latest|\d+(?:\.\d+)*)=(.+)")
TEMPLATE = (ROOT / "docs/versions.html").read_text(encoding="utf-8")
PLACES = re.compile('(?=<article[^>]* role="main")'), re.compile("(?<=<body>)|$")  # in this order
STRICT = ("-W", "--keep-going")  # of the checkout: what an old version warns of cannot be mended


def git(*arguments):
  """Returns the finished process of a git command in the checkout; one without git has no tags."""
  if not shutil.which("git"):
    return subprocess.CompletedProcess(arguments, 1, b"", b"")
  return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True)


def tags():
  """Returns the last tag of each version that has a site, by the version's name: 0.1 -> v0.1.3."""
  matches = filter(None, map(TAG.fullmatch, git("tag", "--list").stdout.decode().split()))
  ordered = sorted(matches, key=lambda match: [*map(int, match.groups())])
  last = {f"{match[1]}.{match[2]}": match[0] for match in ordered}
  return {
    x: tag for x, tag in last.items() if not git("cat-file", "-e", f"{tag}:docs/conf.py").returncode
  }


def unpacked(tag, folder):
  """Returns a folder with the files of a tag."""
  shutil.rmtree(folder, ignore_errors=True)
  folder.mkdir(parents=True)
  subprocess.run(["tar", "-x", "-C", folder], input=git("archive", tag).stdout, check=True)
  return folder


def build(name, source, work):
  """Builds the site of a folder; its modules are before those that are installed."""
  command = ["env", f"PYTHONPATH={source}"]
  command += [] if name == LATEST else ["NOTEBOOKS=off"]  # they need packages of their time
  command += [sys.executable, "-m", "sphinx", "-q", "-c", "docs", "-d", str(work / "doctrees")]
  if name == LATEST:
    command += STRICT
  else:  # the release that is installed is another
    command += [f"-Dversion={name}", f"-Drelease={name}", f"-Dhtml_title=luke_jax {name}"]
    (work / "made_of").unlink(missing_ok=True)  # a tag's, whose site this will not be
    shutil.rmtree(work / "html", ignore_errors=True)  # pages that have gone
  if status := subprocess.run([*command, ".", str(work / "html")], cwd=source).returncode:
    sys.exit(status)


def link_versions(work, output, names):
  """Copies the sites, each page with links to that of other versions; `names`, the newest first."""
  for name in names:
    shutil.rmtree(output / name, ignore_errors=True)
    shutil.copytree(work / name / "html", output / name)
  pages = {x: {str(p.relative_to(output / x)) for p in (output / x).rglob("*.html")} for x in names}
  newest = next((name for name in names if name != LATEST), LATEST)
  for name in names if len(names) > 1 else ():
    for page in pages[name]:
      up = "../" * (page.count("/") + 1)
      to = {x: escape(f"{up}{x}/{page if page in pages[x] else 'index.html'}") for x in names}
      others = "".join(f'<a href="{to[x]}">{x}</a>' for x in names if x != name)
      old = f'This is version {name}. <a href="{to[newest]}">The newest is {newest}.</a>'
      fields = {"name": name, "others": others, "old": "" if name in (LATEST, newest) else old}
      text = (output / name / page).read_text(encoding="utf-8")
      at = next(place.start() for place in (x.search(text) for x in PLACES) if place)
      linked = text[:at] + TEMPLATE.format(**fields) + text[at:]
      (output / name / page).write_text(linked, encoding="utf-8")
  to = f"{newest}/index.html"
  moved = f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={to}">\n'
  (output / "index.html").write_text(f'{moved}<a href="{to}">luke_jax</a>\n', encoding="utf-8")


def main():
  """Builds what is not built yet, and links it."""
  parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  parser.add_argument("folders", nargs="*", metavar="VERSION=FOLDER")
  parser.add_argument("--output", type=Path, default=ROOT / "docs/_build/html")
  given = parser.parse_args()
  folders, output = {}, given.output.resolve()
  work = ROOT / ".cache/versions"
  for text in given.folders:
    match = GIVEN.fullmatch(text)
    if not match or not Path(match[2], "docs/conf.py").is_file():
      parser.error(f"{text}: expected latest=FOLDER or 0.1=FOLDER, a folder with docs/conf.py")
    folders[match[1]] = Path(match[2]).resolve()
    if folders[match[1]].is_relative_to(output):
      parser.error(f"{text}: in --output {output}; expected a folder that is not written to")
    build(match[1], folders[match[1]], work / match[1])
  of_tags = {} if folders else tags()
  if not folders:
    build(LATEST, ROOT, work / LATEST)
  for name, tag in of_tags.items():
    made_of = work / name / "made_of"
    if not made_of.exists() or made_of.read_text() != tag:
      build(name, unpacked(tag, work / name / "source"), work / name)
      made_of.write_text(tag)
  numbers = (folders.keys() | of_tags.keys()) - {LATEST}
  ordered = sorted(numbers, key=lambda x: [*map(int, x.split("."))], reverse=True)
  link_versions(work, output, [*([LATEST] if not folders or LATEST in folders else []), *ordered])


if __name__ == "__main__":
  main()
