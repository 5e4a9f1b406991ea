#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheel_check.sh WHEEL: what an installed wheel does on a machine with a GPU and none of our libraries: installs it into
# an empty virtual environment, then records, imports and explains a PyTorch program, and checks the result. Exit
# status 0 when all of it worked. $OUT, when set, gets the report and the recording.
set -euo pipefail
wheel=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export NEUROLENS_STORE=$work/store COLUMNS=80
python3 -m venv --without-pip empty
target=$(empty/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
python3 -m pip --python empty/bin/python3 install --quiet --no-index "$wheel" ||
  python3 -m pip install --quiet --no-index --no-deps --target "$target" "$wheel"
nl=$work/empty/bin/neurolens
[[ -x $nl ]] || nl=$target/bin/neurolens
ls -la "$nl"
ldd "$(dirname "$(readlink -f "$nl")")/../lib/neurolens/bin/neurolens" 2>/dev/null || true
"$nl" version
"$nl" doctor || true
cat >program.py <<'PY'
import torch, neurolens
torch.manual_seed(0)
block = torch.nn.Sequential(torch.nn.Linear(2048, 8192), torch.nn.GELU(), torch.nn.Linear(8192, 2048)).cuda().half()
x = torch.randn(64, 2048, device="cuda", dtype=torch.half)
for step in range(20):
    with neurolens.scope("step"):
        for _ in range(8):
            x = torch.nn.functional.layer_norm(block(x), (2048,))
        float(x.sum())
torch.cuda.synchronize()
PY
"$nl" run -- python3 program.py
"$nl" summary @latest
"$nl" findings @latest
"$nl" report @latest --out "${OUT:-$work}/wheel_report" >/dev/null
"$nl" query @latest --format csv "SELECT (SELECT count(*) FROM kernel) AS kernels, (SELECT count(*) FROM kernel WHERE api_call_id IS NOT NULL) AS linked, (SELECT count(*) FROM range WHERE name = 'step') AS steps, (SELECT count(*) FROM cpu_sample) AS samples, (SELECT count(*) FROM counter_sample) AS counters" | tee counts.csv
python3 - <<'PY'
import csv
(row,) = csv.DictReader(open("counts.csv"))
n = {k: int(v) for k, v in row.items()}
assert n["kernels"] >= 20 * 8 * 4, n
assert n["linked"] == n["kernels"], n
assert n["steps"] == 20, n
assert n["samples"] > 0, n
print("wheel: recorded, imported and explained", n)
PY
