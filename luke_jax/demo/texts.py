"""Texts that the demo's page is about, in none of the files of examples."""

# Read by the models in the box, unless the user gives a text.
READ = (
  "Irène Joliot-Curie was the daughter of Marie Curie, who was born in Warsaw and taught physics at"
  " the University of Paris."
)
QUESTION = "What did Marie Curie teach?"
# About the invented world of the sample wiki.
ATTENDED = "Aurelio Verdano wrote A Grammar of Rain in Velmora."
ALIKE = ("Velmora", "Lokomotiv Gorinsk")


def place(text: str, name: str) -> tuple[int, int]:
  """Returns the span where a name first occurs in a text."""
  start = text.index(name)
  return start, start + len(name)
