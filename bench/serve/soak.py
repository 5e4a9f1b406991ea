#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Uses `neurolens serve` for a long time in every way at once, and prints whether its memory and open files grow.

    bench/serve/soak.py [--minutes 24] [--clients 4] [--listeners 20] [--kill-minutes 4]

Clients upload (plain, as forms, in pieces), query, compare, start and cancel jobs; listeners follow events all the time. Every few
minutes the server is killed and started again on the same store. Memory and files are sampled every second and printed every half minute;
the slopes are those of the second half of each life, when caches are full. Exit status 1: an answer was wrong, `doctor` found a problem, or
a life of three minutes or more ended with more memory or files than it had in its middle (by 15 % and 16 MB, or by 8 files).
"""
import argparse
import collections
import http.client
import json
import os
import pathlib
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = os.environ.get("NEUROLENS_BIN") or str(ROOT / "build/release/neurolens")
TRACES = [ROOT / "data/h200" / f"{name}.json.gz" for name in ("base", "compile")]
PIECE = "application/offset+octet-stream"
SAY_EVERY_S = 30


class Server:
    def __init__(self, store):
        self.process = subprocess.Popen([BIN, "--store", str(store), "serve", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.port = int(re.search(r":(\d+)$", self.process.stderr.readline()).group(1))
        self.samples = []

    def sample(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        self.samples.append((time.monotonic(), int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) / 1024, len(os.listdir(f"/proc/{self.process.pid}/fd"))))


class Soak:
    def __init__(self, store, seed):
        self.store, self.server, self.stopping = store, None, threading.Event()
        self.counts, self.wrong, self.random = collections.Counter(), [], random.Random(seed)

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)
        try:
            connection.request(method, path, body=body, headers={name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def job(self, op, params):
        return self.ask("POST", "/api/v1/jobs", json.dumps({"op": op, "params": params}), Content_Type="application/json")

    def upload(self):
        return self.ask("POST", "/api/v1/runs?name=a.json.gz", self.random.choice(TRACES).read_bytes())

    def fresh(self):
        """Another profile each time, removed again: the store stays small."""
        status, _, body = self.ask("POST", "/api/v1/runs?name=s.txt&format=collapsed", f"main;f{self.random.random()} 1\n".encode())
        return self.ask("DELETE", f"/api/v1/runs/{json.loads(body)['runs'][0]['run_id']}") if status == 200 else (status, {}, body)

    def form(self):
        body = b'--b\r\nContent-Disposition: form-data; name="f"; filename="a.json.gz"\r\n\r\n' + TRACES[0].read_bytes() + b"\r\n--b--\r\n"
        return self.ask("POST", "/api/v1/runs", body, Content_Type="multipart/form-data; boundary=b")

    def pieces(self):
        data = TRACES[1].read_bytes()
        status, headers, body = self.ask("POST", "/api/v1/uploads?name=p.json.gz", Upload_Length=str(len(data)))
        if status != 201:
            return status, headers, body
        path, half = headers["Location"], len(data) // 2
        for at, piece in ((0, data[:half]), (half, data[half:])):
            answer = self.ask("PATCH", path, piece, Upload_Offset=str(at), Content_Type=PIECE)
            if answer[0] != 204:
                return answer
        return self.job("import", {"upload": [path.rsplit("/", 1)[1]]})

    def query(self):
        return self.ask("GET", "/api/v1/query?args=@latest&args=SELECT+name,count(*)+FROM+kernel+GROUP+BY+1")

    def compare(self):
        return self.ask("GET", "/api/v1/compare?a=@latest&b=@latest")

    def read(self):
        return self.ask("GET", self.random.choice(["/api/v1/runs?limit=5", "/api/v1/idle?run=@latest", "/metrics", "/openapi.json", "/api/v1/jobs?limit=5"]))

    def cancelled(self):
        status, _, body = self.job("query", {"args": ["SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range * b.range = 7"]})
        return self.ask("DELETE", f"/api/v1/jobs/{json.loads(body)['job_id']}") if status == 202 else (status, {}, body)

    def gone(self):
        with socket.create_connection(("127.0.0.1", self.server.port)) as connection:
            connection.sendall(b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n" + b"main;f 1\n" * self.random.randrange(5000))
        return 200, {}, b""

    def wrong_form(self):
        status, _, body = self.ask("POST", "/api/v1/runs", b"--b\r\nbroken", Content_Type="multipart/form-data; boundary=b")
        return (200, {}, b"") if status == 400 else (status, {}, body)

    def events(self):
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=5) as connection:
            connection.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            connection.recv(65536)
        return 200, {}, b""

    def work(self):
        ways = [self.upload, self.fresh, self.form, self.pieces, self.query, self.compare, self.read, self.read, self.read, self.cancelled, self.gone, self.wrong_form, self.events]
        while not self.stopping.is_set():
            way, server = self.random.choice(ways), self.server
            try:
                status, _, body = way()
            except (OSError, http.client.HTTPException, TimeoutError, ValueError):
                if self.server is server and server.process.poll() is not None and not self.stopping.is_set():
                    time.sleep(0.1)  # killed: the next one comes
                self.counts["cut off"] += 1
                continue
            self.counts[way.__name__] += 1
            if status == 503:
                self.counts["503"] += 1
            elif status >= 400 and self.server is server and not (status == 404 and way.__name__ in ("query", "compare", "fresh", "read")):
                self.wrong.append(f"{way.__name__}: {status} {body[:200]}")


    def listen(self):
        """Follows events, and connects again when the server was killed."""
        while not self.stopping.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as connection:
                    connection.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    while not self.stopping.is_set() and (piece := connection.recv(65536)):
                        self.counts["events heard"] += piece.count(b"\nevent: ") + piece.startswith(b"event: ")
            except OSError:
                time.sleep(0.2)


GROWTH_LEAST_S = 180  # shorter lives are not judged: their caches still fill
GROWTH = {1: ("memory", "MB", 0.15, 16), 2: ("open files", "", 0.0, 8)}  # column: name, unit, share and amount that are too much


def grown(samples):
    """What a life has more of at its end than in its middle; empty: nothing."""
    if len(samples) < 2 or samples[-1][0] - samples[0][0] < GROWTH_LEAST_S:
        return []
    fifth, out = len(samples) // 5, []
    for column, (name, unit, share, least) in GROWTH.items():
        middle, end = (statistics.median(s[column] for s in part) for part in (samples[2 * fifth:3 * fifth], samples[-fifth:]))
        if end - middle > max(share * middle, least):
            out.append(f"{name} grew from {middle:.0f} to {end:.0f} {unit}".rstrip())
    return out


def slope(samples, column):
    """Growth per minute over the second half, by least squares."""
    half = samples[len(samples) // 2:]
    if len(half) < 10:
        return 0.0
    mean_t, mean_v = (sum(s[i] for s in half) / len(half) for i in (0, column))
    spread = sum((s[0] - mean_t) ** 2 for s in half)
    return 60 * sum((s[0] - mean_t) * (s[column] - mean_v) for s in half) / spread


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=24)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--listeners", type=int, default=20, help="clients that follow events all the time")
    parser.add_argument("--kill-minutes", type=float, default=4, help="the server is killed this often; 0: never")
    parser.add_argument("--seed", type=int, default=17)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nl-soak-") as folder:
        soak = Soak(pathlib.Path(folder) / "store", options.seed)
        soak.server = Server(soak.store)
        threads = [threading.Thread(target=soak.work) for _ in range(options.clients)] + [threading.Thread(target=soak.listen) for _ in range(options.listeners)]
        for thread in threads:
            thread.start()
        start = born = say_at = time.monotonic()
        end, lives = start + options.minutes * 60, []
        while time.monotonic() < end:
            time.sleep(1)
            if soak.server.process.poll() is not None:
                soak.wrong.append(f"the server ended by itself: {soak.server.process.stderr.read()[-500:]}")
                break
            soak.server.sample()
            now, memory, files = soak.server.samples[-1]
            if now >= say_at:
                print(f"{(now - start) / 60:5.1f} min  {memory:7.1f} MB  {files:4d} files  {sum(soak.counts.values()) - soak.counts['events heard']:7d} requests", flush=True)
                say_at = now + SAY_EVERY_S
            if options.kill_minutes and time.monotonic() - born > options.kill_minutes * 60 and end - time.monotonic() > 30:
                old, born = soak.server, time.monotonic()
                old.process.kill()
                old.process.wait()
                lives.append(old.samples)
                soak.server = Server(soak.store)
        soak.stopping.set()
        for thread in threads:
            thread.join()
        lives.append(soak.server.samples)
        soak.server.process.terminate()
        status = soak.server.process.wait()
        for samples in lives:
            print(f"life of {samples[-1][0] - samples[0][0]:5.0f} s: memory {samples[0][1]:.0f} to {samples[-1][1]:.0f} MB (most {max(s[1] for s in samples):.0f}), slope {slope(samples, 1):+.2f} MB/min; "
                  f"files {samples[0][2]} to {samples[-1][2]} (most {max(s[2] for s in samples)}), slope {slope(samples, 2):+.2f}/min")
        growth = [f"life {number + 1}: {what}" for number, samples in enumerate(lives) for what in grown(samples)]
        judged = sum(samples[-1][0] - samples[0][0] >= GROWTH_LEAST_S for samples in lives)
        print("growth:", "; ".join(growth) or ("none" if judged else "not judged, as no life was long enough"), f"({judged} of {len(lives)} lives judged)")
        print("requests:", ", ".join(f"{name} {count}" for name, count in sorted(soak.counts.items())))
        repaired = subprocess.run([BIN, "--store", str(soak.store), "doctor", "--repair"], capture_output=True, text=True, check=False)
        healthy = subprocess.run([BIN, "--store", str(soak.store), "doctor"], capture_output=True, text=True, check=False).returncode == 0
        print(f"kills: {len(lives) - 1}; last exit status {status}; doctor: {'healthy' if healthy else repaired.stdout[-500:]}; wrong answers: {len(soak.wrong)}")
        for line in soak.wrong[:20]:
            print("  " + line)
        return 1 if soak.wrong or growth or status or not healthy else 0


if __name__ == "__main__":
    sys.exit(main())
