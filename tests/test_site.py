"""Sites of several versions, by a stand-in for Sphinx that makes HTML of each page of Markdown."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SPHINX = """
import os, pathlib, sys
import luke_jax
options, (source, output) = sys.argv[1:-2], sys.argv[-2:]
if "-W" in options and "warning" in pathlib.Path("README.md").read_text():
  sys.exit("a warning")
for page in pathlib.Path(source).rglob("*.md"):
  made = pathlib.Path(output, page).with_suffix(".html")
  made.parent.mkdir(parents=True, exist_ok=True)
  text = f"<p>{page.read_text()} by {luke_jax.NAME} {' '.join(options)}</p>"
  text += f"<p>{os.environ.get('NOTEBOOKS')}</p>"
  made.write_text(f'<html><body><main><article role="main">{text}</article></main></body></html>')
"""
LINK = re.compile(r'href="([^"]+)"')


def write_version(folder, name, *pages):
  """A checkout of a version with some pages."""
  for page in ("README.md", *pages):
    (folder / page).parent.mkdir(parents=True, exist_ok=True)
    (folder / page).write_text(f"{page} of {name}")
  for file, text in (("docs/conf.py", ""), ("luke_jax/__init__.py", f"NAME = {name!r}\n")):
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(text)
  for file in ("versions.py", "versions.html"):
    shutil.copy(ROOT / "docs" / file, folder / "docs")


@pytest.fixture
def checkout(tmp_path):
  (tmp_path / "stand_in/sphinx").mkdir(parents=True)
  (tmp_path / "stand_in/sphinx/__main__.py").write_text(SPHINX)
  return tmp_path / "checkout"


def made(checkout, *arguments, status=0):
  """Runs the script in a checkout, with the stand-in in all folders: PYTHONPATH is the script's."""
  for place in (checkout, *(Path(x.partition("=")[2]) for x in map(str, arguments) if "=" in x)):
    if place.is_dir() and place.is_relative_to(checkout.parent):
      shutil.copytree(checkout.parent / "stand_in", place, dirs_exist_ok=True)
  command = [sys.executable, str(checkout / "docs/versions.py"), *map(str, arguments)]
  ended = subprocess.run(command, capture_output=True, text=True)
  assert ended.returncode == status, ended.stderr
  return ended.stderr


def git(checkout, *arguments):
  person = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a"}
  person |= {"GIT_COMMITTER_EMAIL": "a@b", "GIT_CONFIG_GLOBAL": os.devnull}
  subprocess.run(
    ["git", *arguments], cwd=checkout, check=True, capture_output=True, env=os.environ | person
  )


def check_links(site):
  """Every link of every page leads to a file of the site."""
  pages = list(site.rglob("*.html"))
  for page in pages:
    for link in LINK.findall(page.read_text()):
      assert (page.parent / link).is_file(), f"{page}: {link}"
  return len(pages)


def tagged(checkout):
  """A checkout with two tags of 0.1, one of 0.2, and one that is no version."""
  write_version(checkout, "0.1.0")
  shutil.copytree(checkout.parent / "stand_in", checkout, dirs_exist_ok=True)
  git(checkout, "init", "-q")
  for name, pages in (
    ("v0.1.0", ()),
    ("v0.1.2", ("docs/warning.md",)),
    ("v0.2.0", ("docs/new.md",)),
    ("try", ()),
  ):
    write_version(checkout, name, *pages)
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", name)
    git(checkout, "tag", name)
  write_version(checkout, "now", "docs/newest.md")


def test_a_checkout_without_tags_is_latest_alone(checkout):
  write_version(checkout, "now", "docs/page.md")
  made(checkout)
  site = checkout / "docs/_build/html"
  page = (site / "latest/docs/page.html").read_text()
  assert "by now" in page and "-W" in page and "<nav" not in page
  assert 'url=latest/index.html"' in (site / "index.html").read_text()


def test_tags_are_versions_with_their_own_modules_and_links_to_each_other(checkout):
  tagged(checkout)
  made(checkout)
  site = checkout / "docs/_build/html"
  assert sorted(x.name for x in site.iterdir() if x.is_dir()) == ["0.1", "0.2", "latest"]
  old = (site / "0.1/README.html").read_text()
  assert "by v0.1.2" in old and "-Drelease=0.1" in old and "-W" not in old
  assert "<p>off</p>" in old
  assert '<a href="../0.2/README.html">The newest is 0.2.</a>' in old
  assert LINK.findall(old)[1:] == ["../latest/README.html", "../0.2/README.html"]
  # A page that another version lacks leads to its first.
  new = (site / "0.2/docs/new.html").read_text()
  assert "The newest" not in new and 'href="../../0.1/index.html"' in new
  assert 'url=0.2/index.html"' in (site / "index.html").read_text()


def test_a_tag_is_built_once_and_linked_again(checkout):
  tagged(checkout)
  made(checkout)
  page = checkout / ".cache/versions/0.1/html/README.html"
  page.write_text(page.read_text().replace("by v0.1.2", "as it was"))
  git(checkout, "tag", "v0.3.0")
  made(checkout)
  text = (checkout / "docs/_build/html/0.1/README.html").read_text()
  assert "as it was" in text and "The newest is 0.3." in text
  assert text.count("<nav") == 1


def test_folders_are_versions(checkout, tmp_path):
  write_version(checkout, "now")
  for name in ("0.9", "0.10"):
    write_version(tmp_path / name, name)
    (tmp_path / name / "index.md").write_text("first")
  folders = [f"{name}={tmp_path / name}" for name in ("0.9", "0.10")]
  made(checkout, "--output", tmp_path / "site", *folders)
  assert check_links(tmp_path / "site") == 5
  text = (tmp_path / "site/0.9/README.html").read_text()
  assert "by 0.9" in text and "The newest is 0.10." in text


@pytest.mark.parametrize("given", ["0.1=nowhere", "docs", "old=docs"])
def test_bad_folders_are_one_line(checkout, given):
  write_version(checkout, "now")
  fault = made(checkout, given, status=2).splitlines()[-1]
  assert f"{given}: expected latest=FOLDER or 0.1=FOLDER, a folder with docs/conf.py" in fault


def test_a_folder_that_would_be_written_over_stays(checkout, tmp_path):
  write_version(checkout, "now")
  write_version(tmp_path / "site/0.1", "0.1")
  given = f"0.1={tmp_path}/site/0.1"
  assert "in --output" in made(checkout, "--output", tmp_path / "site", given, status=2)
  assert (tmp_path / "site/0.1/docs/conf.py").exists()


def test_a_tag_is_built_anew_after_a_folder_of_its_version(checkout, tmp_path):
  tagged(checkout)
  made(checkout)
  write_version(tmp_path / "other", "other")
  made(checkout, f"0.1={tmp_path}/other")
  made(checkout)
  assert "by v0.1.2" in (checkout / "docs/_build/html/0.1/README.html").read_text()


def test_a_warning_of_the_checkout_fails(checkout):
  write_version(checkout, "a warning")
  assert "a warning" in made(checkout, status=1)
