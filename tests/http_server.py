# SPDX-License-Identifier: Apache-2.0
"""`neurolens serve` as a client sees it: started on a free port, asked through http.client, raw sockets or curl."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading

from neurolens_cli import LIMIT_S, default_signals, wait_until

# What differs between two calls.
VOLATILE = re.compile(r'"(?:elapsed_ms|seconds|memory_available_bytes)": [0-9.e+-]+')
# Operations that are about more than one run, or take a question: what they are asked here.
ARGUMENTS = {
    "bench-results": {"kind": "prove"},
    "queue-entries": {"limit": 5},
    "predict": {"config": "gpt2", "device": "h100"},
    "compare": {"a": ["@latest"], "b": ["@latest"]},
    "query": {"args": ["@latest", "SELECT count(*) FROM kernel"]},
    "schema": {"what": "run"},
    "timeline-find": {"run": "@latest", "text": "gemm"},
    "timeline-event": {"run": "@latest", "table": "kernel", "id": 12},
    "gate": {"baseline": ["@latest"], "candidate": ["@latest"], "allow_different": True},
}
# Operations that change the store: what they are asked here. Those that remove come last.
CHANGES = {"tag": {"run": "@latest", "tags": ["a=b"]}, "note": {"run": "@latest", "text": "seen"}, "baseline": {"action": "set", "name": "main", "runs": ["@latest"]},
           "rm": {"runs": ["@latest"], "force": True}}
# The words of a command line where their order is not that of the parameters.
WORDS = {"compare": ("@latest", "--", "@latest"), "nvtx": ("check", "@latest"), "timeline-find": ("@latest", "gemm"),
         "timeline-event": ("@latest", "kernel", "12")}


class Reply:
    """A finished response."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def problem(self, status):
        """The problem document, which must have this status."""
        assert self.status == status, f"status {self.status}, not {status}: {self.body[:300]}"
        assert self.headers["content-type"] == "application/problem+json", self.headers
        document = self.json()
        assert document["status"] == status and document["type"].startswith("urn:neurolens:problem:"), document
        return document


class Server:
    """A server over a store; ends with the `with` block, and must end well then unless it was killed."""

    def __init__(self, store, *flags, port=0):
        self.store = store
        command = store.command("serve", "--listen", f"127.0.0.1:{port}", *flags)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=default_signals,
                                        env={**os.environ, "NO_COLOR": "1", **store.environment})
        line = self.process.stderr.readline()
        found = re.search(r"at (https?://127\.0\.0\.1:(\d+))$", line)
        assert found, f"{line!r} {self.process.stderr.read() if self.process.poll() is not None else ''}"
        self.url, self.port = found.group(1), int(found.group(2))
        # Read while it runs: lines of a log that nobody reads are dropped.
        self.said = []
        self.reader = threading.Thread(target=lambda: self.said.extend(self.process.stderr), daemon=True)
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        self.reader.join(LIMIT_S)
        self.process.stdout.close()
        self.process.stderr.close()

    def stop(self, number=signal.SIGTERM):
        """What it printed, after an orderly end."""
        self.process.send_signal(number)
        out = self.process.stdout.read()
        self.process.wait(LIMIT_S)
        self.reader.join(LIMIT_S)
        error = "".join(self.said)
        assert self.process.returncode == 0, f"ended with {self.process.returncode}: {error[-400:]}"
        return out, error

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, method, path, body=None, **headers):
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        try:
            connection.request(method, path, body=body, headers={name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.ask("GET", path, **headers)

    def post(self, path, document):
        return self.ask("POST", path, json.dumps(document), Content_Type="application/json")

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT_S)

    def raw(self, data):
        """All bytes that come back for these bytes, until the server closes the connection."""
        with self.connect() as connection:
            connection.sendall(data)
            parts = []
            while True:
                part = connection.recv(65536)
                if not part:
                    return b"".join(parts)
                parts.append(part)

    def metric(self, name, **labels):
        """The sum of a metric over the lines with these labels."""
        total = 0.0
        for line in self.get("/metrics").body.decode().splitlines():
            found = re.fullmatch(re.escape(name) + r"(?:\{(.*)\})? (\S+)", line)
            if found and all(f'{key}="{value}"' in (found.group(1) or "") for key, value in labels.items()):
                total += float(found.group(2))
        return total

    def wait_for(self, wanted, name, **labels):
        wait_until(lambda: self.metric(name, **labels) == wanted, f"{name} {labels} to be {wanted}", self.process)


def events_of(connection):
    """(id, event, data) of every event, as they come."""
    stream = connection.makefile("rb")
    assert stream.readline().startswith(b"HTTP/1.1 200 ")
    event = {}
    for line in stream:
        name, _, value = line.rstrip(b"\r\n").decode().partition(": ")
        if name in ("id", "event", "data"):
            event[name] = value
        elif not name and event:
            yield event.get("id"), event["event"], json.loads(event["data"])
            event = {}


def listen(server, **headers):
    connection = server.connect()
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    connection.sendall(f"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n{head}\r\n".encode())
    return connection


def operations(server):
    """name: the OpenAPI entry of every operation that GET offers."""
    paths = server.get("/openapi.json").json()["paths"]
    return {path.rsplit("/", 1)[1]: methods["get"] for path, methods in paths.items()
            if re.fullmatch(r"/api/v1/[a-z-]+", path) and "get" in methods and path.rsplit("/", 1)[1] not in ("runs", "events", "me", "jobs", "uploads")}


def words_of(arguments, positional):
    """The same arguments as words of a command line."""
    words = []
    for name, value in arguments.items():
        values = value if isinstance(value, list) else [value]
        if name in positional:
            words += values
            continue
        flag = "--" + name.replace("_", "-")
        words += [flag] if value is True else [part for one in values for part in (flag, str(one))]
    return words
