"""Makes the README's picture: the page of `luke-jax try`, with a relation chosen. Needs chromium.

make pictures
"""

import shutil
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from luke_jax.serve import Server, application, read_models

PICTURE = Path(__file__).parent / "try.png"
TEXT = (
  "Irène Joliot-Curie studied chemistry at the University of Paris. She and her husband Frédéric"
  " Joliot won the Nobel Prize in 1935."
)
CHOSEN = ("Irène Joliot-Curie", "Frédéric Joliot")
KINDS = "person, university, award"
SIZE = {"width": 800, "height": 1200}
SIDES = {"x": 0, "y": 0, "width": 800}


def choose(page: Page) -> None:
  """Types the text and kinds of names, and chooses two of its names."""
  page.locator("#kinds").fill(KINDS)
  for text in (TEXT, TEXT[:-1], TEXT):  # the times on the page are those of a warm model
    with page.expect_response(lambda reply: "english/typing" in (reply.request.post_data or "")):
      page.locator("#text").fill(text)
  for name in CHOSEN:
    page.locator("#names button", has_text=name).click()
  expect(page.locator("#relation")).to_be_visible()


def main() -> None:
  """Writes the picture."""
  page_of_models = application(read_models([]), page=True)
  with Server(page_of_models, port=0) as server, sync_playwright() as p:
    browser = p.chromium.launch(executable_path=shutil.which("chromium"))
    page = browser.new_page(viewport=SIZE, color_scheme="light", device_scale_factor=1.5)
    page.goto(server.address)
    choose(page)
    last = page.locator("#kind-names").bounding_box()  # to the end of its last line
    assert last
    page.screenshot(path=PICTURE, clip={**SIDES, "height": last["y"] + last["height"] + 16})
    browser.close()


if __name__ == "__main__":
  main()
