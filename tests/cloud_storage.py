"""A small Cloud Storage on the loopback address, for the real client libraries.

It has the parts of the JSON API that gcsfs, google-cloud-storage and TensorStore use: conditional
writes, ranges, uploads in one or many requests, listing by folders, copies, deletion in batches.
"""

import base64
import contextlib
import email.parser
import email.policy
import hashlib
import itertools
import json
import re
import sys
import threading
import uuid
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit

PAGE = 50  # names in an answer to a listing, few so that clients have to go on


@dataclass(frozen=True)
class Blob:
  """An object of a bucket."""

  data: bytes
  generation: int
  time: str
  composed: bool = False


class RefusedError(Exception):
  """An answer other than success."""

  def __init__(self, status, message=""):
    self.status, self.message = status, message


class CloudStorage:
  """Buckets in memory; `address` serves them."""

  def __init__(self):
    self.objects: dict[tuple[str, str], Blob] = {}
    self.uploads: dict[str, dict] = {}
    self.requests: Counter = Counter()  # by kind
    self.refused: dict[str, int] = {}  # statuses by the ends of names that are refused
    self.lock = threading.RLock()
    self.generations = itertools.count(1)
    storage = self

    class Handler(_Handler):
      pass

    Handler.storage = storage
    self.server = _Server(("127.0.0.1", 0), Handler)
    self.address = f"http://127.0.0.1:{self.server.server_port}"

  @property
  def environment(self):
    """Variables by which the clients of a process find this server, and nothing else."""
    return {
      "STORAGE_EMULATOR_HOST": self.address,
      "TENSORSTORE_GCS_HTTP_URL": self.address,
      "GOOGLE_CLOUD_PROJECT": "none",
      "FSSPEC_GCS_TOKEN": "anon",
      "GOOGLE_AUTH_TOKEN_FOR_TESTING": "none",  # TensorStore's
    }

  def files(self, folder):
    """Returns the content of the objects below gs://bucket/folder, by their names there."""
    bucket, _, prefix = folder.removeprefix("gs://").partition("/")
    prefix = f"{prefix}/" if prefix else ""
    return {
      name.removeprefix(prefix): blob.data
      for (place, name), blob in sorted(self.objects.items())
      if place == bucket and name.startswith(prefix)
    }

  @contextlib.contextmanager
  def serving(self):
    thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
      yield self
    finally:
      self.server.shutdown()
      self.server.server_close()
      thread.join()

  def put(self, bucket, name, data, query, *, composed=False):
    with self.lock:
      if bucket.startswith("missing"):
        raise RefusedError(404, "The specified bucket does not exist.")
      self.check(bucket, name, query)
      now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
      self.objects[bucket, name] = Blob(data, next(self.generations), now, composed)
      return self.described(bucket, name)

  def get(self, bucket, name, query):
    with self.lock:
      for end, status in self.refused.items():
        if name.endswith(end):
          raise RefusedError(status, f"no access to {bucket}/{name}")
      if (bucket, name) not in self.objects:
        raise RefusedError(404, f"no such object: {bucket}/{name}")
      blob = self.objects[bucket, name]
      if "generation" in query and int(query["generation"]) != blob.generation:
        raise RefusedError(404, "no such generation")
      unchanged = int(query.get("ifGenerationNotMatch", -1)) == blob.generation
      if unchanged:
        raise RefusedError(304)
      self.check(bucket, name, query)
      return blob

  def check(self, bucket, name, query):
    """Raises RefusedError unless the object is of the generation that the request depends on."""
    blob = self.objects.get((bucket, name))
    wanted = query.get("ifGenerationMatch")
    if wanted is not None and int(wanted) != (blob.generation if blob else 0):
      raise RefusedError(412, "conditionNotMet")

  def delete(self, bucket, name, query):
    with self.lock:
      self.get(bucket, name, query)
      del self.objects[bucket, name]

  def described(self, bucket, name):
    blob = self.objects[bucket, name]
    values = {
      "kind": "storage#object",
      "id": f"{bucket}/{name}/{blob.generation}",
      "name": name,
      "bucket": bucket,
      "generation": str(blob.generation),
      "metageneration": "1",
      "contentType": "application/octet-stream",
      "storageClass": "STANDARD",
      "size": str(len(blob.data)),
      "etag": str(blob.generation),
      "timeCreated": blob.time,
      "updated": blob.time,
      "crc32c": _crc32c(blob.data),
    }
    if not blob.composed:
      values["md5Hash"] = base64.b64encode(hashlib.md5(blob.data).digest()).decode()
    return values

  def listed(self, bucket, query):
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    start, end = query.get("startOffset", ""), query.get("endOffset", "")
    after, most = query.get("pageToken", ""), int(query.get("maxResults", PAGE))
    most = min(most, PAGE)
    with self.lock:
      names = sorted(name for place, name in self.objects if place == bucket)
      entries = []  # (place in the order, folder or None, object or None)
      for name in names:
        if not name.startswith(prefix) or name < start or (end and name >= end):
          continue
        cut = name.find(delimiter, len(prefix)) if delimiter else -1
        if cut >= 0:
          folder = name[: cut + len(delimiter)]
          if not entries or entries[-1] != (folder, True):
            entries.append((folder, True))
        else:
          entries.append((name, False))
      entries = [entry for entry in entries if entry[0] > after]
      page = entries[:most]
      answer = {"kind": "storage#objects"}
      answer["items"] = [self.described(bucket, name) for name, folder in page if not folder]
      answer["prefixes"] = [name for name, folder in page if folder]
      if len(entries) > most:
        answer["nextPageToken"] = page[-1][0]
      return answer


class _Server(ThreadingHTTPServer):
  daemon_threads = True

  def handle_error(self, request, client_address):
    if not isinstance(sys.exception(), ConnectionError):  # clients hang up
      super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
  protocol_version = "HTTP/1.1"
  disable_nagle_algorithm = True
  storage: CloudStorage

  def log_message(self, *_):
    pass

  def do_GET(self):
    self._answer("GET")

  def do_POST(self):
    self._answer("POST")

  def do_PUT(self):
    self._answer("PUT")

  def do_DELETE(self):
    self._answer("DELETE")

  def _answer(self, method):
    body = self._body()
    try:
      status, headers, content = self._handled(method, self.path, body)
    except RefusedError as fault:
      status, headers = fault.status, {"Content-Type": "application/json"}
      message = {"error": {"code": fault.status, "message": fault.message}}
      content = b"" if fault.status in (304, 204, 308) else json.dumps(message).encode()
    self.send_response(status)
    for name, value in headers.items():
      self.send_header(name, value)
    self.send_header("Content-Length", str(len(content)))
    self.end_headers()
    with contextlib.suppress(ConnectionError):  # clients hang up on what they no longer need
      self.wfile.write(content)

  def _body(self):
    if self.headers.get("Transfer-Encoding") == "chunked":
      parts = []
      while size := int(self.rfile.readline().split(b";")[0], 16):
        parts.append(self.rfile.read(size))
        self.rfile.readline()
      self.rfile.readline()
      return b"".join(parts)
    return self.rfile.read(int(self.headers.get("Content-Length") or 0))

  def _handled(self, method, address, body):
    parts = urlsplit(address)
    query = {name: values[-1] for name, values in parse_qs(parts.query, True).items()}
    path = parts.path.removeprefix("/download")
    if path.startswith("/batch"):
      return self._batch(body)
    if path.startswith("/upload/"):
      return self._upload(path, query, body)
    match = re.fullmatch(r"/storage/v1/b/([^/]+)(?:/(o)(?:/(.+))?)?", path)
    if not match:
      raise RefusedError(404, f"no such address: {path}")
    bucket, objects, rest = match[1], match[2], match[3]
    if not objects:
      self.storage.requests["bucket"] += 1
      return _json({"kind": "storage#bucket", "name": bucket, "id": bucket, "location": "HERE"})
    if rest is None:
      self.storage.requests["list"] += 1
      return _json(self.storage.listed(bucket, query))
    if method == "POST":
      return self._copied(bucket, rest, query, body)
    name = unquote(rest)
    if method == "DELETE":
      self.storage.requests["delete"] += 1
      self.storage.delete(bucket, name, query)
      return 204, {}, b""
    if query.get("alt") == "media":
      self.storage.requests["read"] += 1
      return self._media(bucket, name, query)
    self.storage.requests["describe"] += 1
    with self.storage.lock:
      self.storage.get(bucket, name, query)
      return _json(self.storage.described(bucket, name))

  def _media(self, bucket, name, query):
    blob = self.storage.get(bucket, name, query)
    data, status, size = blob.data, 200, len(blob.data)
    headers = {
      "Content-Type": "application/octet-stream",
      "x-goog-generation": str(blob.generation),
      "x-goog-metageneration": "1",
      "x-goog-stored-content-length": str(size),
      "x-goog-hash": f"crc32c={_crc32c(data)}",
      "ETag": str(blob.generation),
      "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT",
    }
    if wanted := re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", "")):
      first = int(wanted[1]) if wanted[1] else max(size - int(wanted[2]), 0)
      last = min(int(wanted[2]), size - 1) if wanted[1] and wanted[2] else size - 1
      if first >= size:
        raise RefusedError(416, "no such range")
      data, status = data[first : last + 1], 206
      headers["Content-Range"] = f"bytes {first}-{last}/{size}"
    return status, headers, data

  def _upload(self, path, query, body):
    storage = self.storage
    if "upload_id" in query:  # gcsfs sends parts by POST, others by PUT
      return self._chunk(query["upload_id"], body)
    bucket = path.split("/")[5]
    kind = query["uploadType"]
    if kind == "resumable":
      name = query.get("name") or json.loads(body)["name"]
      id = uuid.uuid4().hex
      storage.uploads[id] = {"bucket": bucket, "name": name, "query": query, "data": bytearray()}
      place = f"{storage.address}{path}?uploadType=resumable&upload_id={id}"
      if "ifGenerationMatch" in query:
        place += f"&ifGenerationMatch={query['ifGenerationMatch']}"
      return 200, {"Location": place, "X-GUploader-UploadID": id}, b""
    storage.requests["write"] += 1
    if kind == "multipart":
      described, body = _related(self.headers["Content-Type"], body)
      name = json.loads(described)["name"]
    else:
      name = query["name"]
    return _json(storage.put(bucket, name, body, query))

  def _chunk(self, id, body):
    upload = self.storage.uploads[id]
    first, total = re.fullmatch(
      r"bytes (\*|\d+(?=-))(?:-\d+)?/(\*|\d+)", self.headers.get("Content-Range", "bytes 0-0/*")
    ).groups()
    if first != "*":
      del upload["data"][int(first) :]  # sent again
      upload["data"] += body
    if total == "*" or len(upload["data"]) < int(total):
      size = len(upload["data"])
      return 308, {"Range": f"bytes=0-{size - 1}"} if size else {}, b""
    self.storage.requests["write"] += 1
    done = self.storage.uploads.pop(id)
    return _json(self.storage.put(done["bucket"], done["name"], bytes(done["data"]), done["query"]))

  def _copied(self, bucket, rest, query, body):
    storage = self.storage
    storage.requests["copy"] += 1
    if rest.endswith("/compose"):
      name = unquote(rest.removesuffix("/compose"))
      parts = [item["name"] for item in json.loads(body)["sourceObjects"]]
      with storage.lock:
        data = b"".join(storage.get(bucket, part, {}).data for part in parts)
        return _json(storage.put(bucket, name, data, query, composed=True))
    source, way, other, target = re.fullmatch(
      r"(.+)/(rewriteTo|moveTo)(?:/b/([^/]+))?/o/(.+)", rest
    ).groups()
    data = storage.get(bucket, unquote(source), {}).data
    resource = storage.put(other or bucket, unquote(target), data, query)
    if way == "moveTo":
      storage.delete(bucket, unquote(source), {})
      return _json(resource)
    size = str(len(data))
    done = {"done": True, "objectSize": size, "totalBytesRewritten": size, "resource": resource}
    return _json({"kind": "storage#rewriteResponse"} | done)

  def _batch(self, body):
    """Answers several requests, which gcsfs sends in one to delete many objects."""
    boundary = f"answers-{uuid.uuid4().hex}"
    answers = []
    for id, part in _parts(self.headers["Content-Type"], body):
      request, _, rest = part.partition(b"\r\n")
      method, address, _ = request.decode().split()
      content = rest.partition(b"\r\n\r\n")[2]
      try:
        status, _, data = self._handled(method, address, content)
      except RefusedError as fault:
        status, data = fault.status, json.dumps({"error": {"code": fault.status}}).encode()
      head = (
        f"--{boundary}\r\nContent-Type: application/http\r\nContent-ID: <response-{id}>\r\n\r\n"
      )
      answers.append(
        f"{head}HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n\r\n".encode()
      )
      answers.append(data + b"\r\n")
    answers.append(f"--{boundary}--\r\n".encode())
    return 200, {"Content-Type": f"multipart/mixed; boundary={boundary}"}, b"".join(answers)


def _json(value):
  return 200, {"Content-Type": "application/json; charset=UTF-8"}, json.dumps(value).encode()


def _related(content_type, body):
  """Returns the two parts of an upload: the object's description and its data."""
  boundary = re.search(r'boundary="?([^";]+)"?', content_type)[1].strip("'").encode()
  _, first, second, _ = body.split(b"--" + boundary, 3)
  described, data = (re.split(rb"\r?\n\r?\n", part, maxsplit=1)[1] for part in (first, second))
  return described, data.removesuffix(b"\n").removesuffix(b"\r")


def _parts(content_type, body):
  """Yields the id and the request of each part of a batch."""
  boundary = re.search(r'boundary="?([^";]+)"?', content_type)[1].encode()
  for part in body.split(b"--" + boundary)[1:-1]:
    head, _, request = part.strip().replace(b"\r\n", b"\n").partition(b"\n\n")
    parser = email.parser.BytesParser(policy=email.policy.default)
    id = (parser.parsebytes(head + b"\n\n").get("Content-ID") or "").strip("<>")
    yield id, request.strip().replace(b"\n", b"\r\n") + b"\r\n\r\n"


def _crc32c(data):
  import google_crc32c  # which gcsfs brings

  return base64.b64encode(google_crc32c.Checksum(data).digest()).decode()


def object_address(bucket, name):
  """Returns an object's path below the server's address."""
  return f"/storage/v1/b/{bucket}/o/{quote(name, safe='')}"
