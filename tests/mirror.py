"""A server with a dump of a wiki in Wikimedia's folders, that fails as it is told."""

import contextlib
import gzip
import hashlib
import http.server
import threading

DATE = "20260101"


def write_mirror(folder, wiki, pages, items):
  """Writes the dump of a wiki: its pages, bytes of .xml.bz2, and its items by ids of pages."""
  rows = ",".join(f"({page},'wikibase_item','{item}',NULL)" for page, item in items.items())
  table = f"INSERT INTO `page_props` VALUES {rows};\n"
  files = {
    f"{wiki}-{DATE}-pages-articles-multistream.xml.bz2": pages,
    f"{wiki}-{DATE}-page_props.sql.gz": gzip.compress(table.encode(), mtime=0),
  }
  dated, latest = folder / wiki / DATE, folder / wiki / "latest"
  for made in (dated, latest):
    made.mkdir(parents=True)
  lines = [f"{hashlib.sha1(content).hexdigest()}  {name}\n" for name, content in files.items()]
  (latest / f"{wiki}-latest-sha1sums.txt").write_text("".join(lines))
  for name, content in files.items():
    (dated / name).write_bytes(content)
  return files


@contextlib.contextmanager
def served(folder, faults=(), ranges=True):
  """Yields an address and the list of requests; the first GETs of files of a dump get `faults`.

  A fault is a status, or a number of bytes after which the connection ends.
  """
  faults, asked = list(faults), []

  class Handler(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self):
      self.do_GET()

    def do_GET(self):
      path, head = folder / self.path.lstrip("/"), self.command == "HEAD"
      asked.append((self.command, path.name, self.headers.get("Range")))
      fault = faults.pop(0) if faults and not head and DATE in path.name else None
      if not path.is_file() or (fault and fault in range(400, 600)):
        self.send_error(fault or 404)
        return
      content, start = path.read_bytes(), 0
      if ranges and (asked_for := self.headers.get("Range")):
        start = int(asked_for.removeprefix("bytes=").rstrip("-"))
      self.send_response(206 if start else 200)
      self.send_header("Content-Length", str(len(content) - start))
      self.end_headers()
      if not head:
        self.wfile.write(content[start : None if fault is None else start + fault])

    def log_message(self, *_):
      pass

  server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
  threading.Thread(target=server.serve_forever, daemon=True).start()
  try:
    yield f"http://127.0.0.1:{server.server_port}", asked
  finally:
    server.shutdown()
    server.server_close()
