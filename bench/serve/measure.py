#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures `neurolens serve` against its marks and prints one table. Exit status 1 when a mark is missed.

    bench/serve/measure.py [--bytes 1e9] [--seconds 5] [--connections 100]

The load comes from autocannon (npm, in this folder) on the same two CPUs as the server. Files are in the page cache.
"""
import argparse
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BIN = os.environ.get("NEUROLENS_BIN") or str(ROOT / "build/release/neurolens")
TRACES = [ROOT / "data/h200" / f"{name}.json.gz" for name in ("base", "compile")]
STREAMS = 500


class Server:
    def __init__(self, store):
        began = time.perf_counter()
        self.process = subprocess.Popen([BIN, "--store", str(store), "serve", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        text=True)
        self.port = int(re.search(r":(\d+)$", self.process.stderr.readline()).group(1))
        self.get("/api/v1/runs")
        self.start_ms = (time.perf_counter() - began) * 1e3

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", path)
        body = connection.getresponse().read()
        connection.close()
        return body

    def memory(self, what):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(what + r":\s+(\d+) kB", status).group(1)) * 1024


def load(server, path, connections, seconds):
    command = ["npx", "--no-install", "autocannon", "--json", "-c", str(connections), "-d", str(seconds), f"http://127.0.0.1:{server.port}{path}"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    if result["non2xx"] or result["errors"]:
        sys.exit(f"{path}: {result['non2xx']} other answers, {result['errors']} errors")
    return result["requests"]["average"], result["latency"]["p99"]


def upload(server, path):
    """Seconds from the first byte to the reply."""
    began = time.perf_counter()
    with open(path, "rb") as file, socket.create_connection(("127.0.0.1", server.port)) as connection:
        head = f"POST /api/v1/runs?name=big.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: {path.stat().st_size}\r\n\r\n"
        connection.sendall(head.encode())
        connection.sendfile(file)
        status = connection.recv(65536)
    if b" 200 " not in status[:20]:
        sys.exit(f"upload failed: {status[:500]}")
    return time.perf_counter() - began


def import_file(folder, path):
    began = time.perf_counter()
    child = subprocess.Popen([BIN, "--store", str(folder), "import", str(path)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit("import failed")
    return time.perf_counter() - began, usage.ru_maxrss * 1024


def analyses(store, count):
    """Peak memory of a server that is asked for so many analyses of the large run at once."""
    with Server(store) as server:
        threads = [threading.Thread(target=server.get, args=(f"/api/v1/runs/@latest/findings?limit={i + 1}",)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return server.memory("VmHWM")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=float, default=1e9, help="size of the uploaded trace")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=100)
    parser.add_argument("--runs", type=int, default=3, help="uploads and imports; the best counts")
    arguments = parser.parse_args()
    if not (HERE / "node_modules/autocannon").exists():
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=HERE, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", str(ROOT / "build/release"), "make_trace"], check=True, stdout=subprocess.DEVNULL)
    rows, missed = [], []

    def mark(what, value, text, wanted, ok):
        rows.append((what, text.format(value), wanted, "ok" if ok else "MISSED"))
        if not ok:
            missed.append(what)

    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        folder = pathlib.Path(folder)
        subprocess.run([BIN, "--store", str(folder / "store"), "import", str(TRACES[0])], check=True, stdout=subprocess.DEVNULL)
        starts = []
        for _ in range(5):
            with Server(folder / "store") as server:
                starts.append(server.start_ms)
        mark("start to first answer", min(starts), "{:.0f} ms", "<= 150 ms", min(starts) <= 150)
        with Server(folder / "store") as server:
            for path in ("/healthz", "/api/v1/version", "/api/v1/runs"):
                rate, p99_ms = load(server, path, arguments.connections, arguments.seconds)
                small = path != "/api/v1/runs"
                mark(f"{path}, requests/s", rate, "{:.0f}", ">= 5000" if small else "", not small or rate >= 5000)
                mark(f"{path}, p99 at {arguments.connections} connections", p99_ms, "{:.1f} ms", "<= 20 ms" if small else "", not small or p99_ms <= 20)
        with Server(folder / "store") as server:
            streams = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(STREAMS)]
            for stream in streams:
                stream.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
                stream.recv(4096)
            rss_mb = server.memory("VmRSS") / 1e6
            mark(f"RSS with {STREAMS} idle event streams", rss_mb, "{:.0f} MB", "<= 100 MB", rss_mb <= 100)
            for stream in streams:
                stream.close()
        big = folder / "big.json"
        subprocess.run([ROOT / "build/release/bench/make_trace", "--bytes", str(int(arguments.bytes)), "--out", big, *TRACES], check=True, stdout=subprocess.DEVNULL)
        imports, uploads = [], []
        for i in range(arguments.runs):
            imports.append(import_file(folder / f"import-{i}", big))
            with Server(folder / f"upload-{i}") as server:
                uploads.append((upload(server, big), server.memory("VmHWM")))
            shutil.rmtree(folder / f"import-{i}")
            if i + 1 < arguments.runs:
                shutil.rmtree(folder / f"upload-{i}")
        ratio = min(imports)[0] / min(uploads)[0]
        mark("upload speed against import", ratio, "{:.2f}x", ">= 0.8x", ratio >= 0.8)
        mark("upload", big.stat().st_size / 1e6 / min(uploads)[0], "{:.0f} MB/s", "", True)
        memory = min(u[1] for u in uploads) / min(i[1] for i in imports)
        mark("peak RSS of an upload against import", memory, "{:.2f}x", "<= 1.2x", memory <= 1.2)
        # As many as there are heavy workers, and twice as many: the others must wait. The largest of three, as two that miss each other need less.
        peaks = [max(analyses(folder / f"upload-{arguments.runs - 1}", count) for _ in range(3)) for count in (2, 4)]
        mark("peak RSS of 4 analyses at once against 2", peaks[1] / peaks[0], "{:.2f}x", "<= 1.15x", peaks[1] <= 1.15 * peaks[0])
        mark("peak RSS of 4 analyses at once", peaks[1] / 1e6, "{:.0f} MB", "", True)
    for row in rows:
        print("{:<45} {:>12}  {:<10} {}".format(*row))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
