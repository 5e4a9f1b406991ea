#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# record.sh [SECONDS [NAME ...]]: every pair, or those named, on a machine with a GPU: measured unrecorded, its flawed side recorded by
# torch.profiler, then by neurolens-capture with labelled steps. Into $OUT: measured.jsonl and captures.tar, with a NAME.json.gz and a NAME.nlcap.tar.gz each. No pair
# is begun after SECONDS (default 540).
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
capture=${CAPTURE:-$PWD/build/capture-only/neurolens-capture}
export PYTHONPATH=$PWD/python
work=$(mktemp -d)
mkdir "$work/done"
limit=${1:-540}
names=("${@:2}")
((${#names[@]} > 0)) || mapfile -t names < <(python3 bench/advice/pairs.py list)
for name in "${names[@]}"; do
  ((SECONDS < limit)) || { echo "stopped before $name"; break; }
  python3 bench/advice/pairs.py measure "$name" --rounds 6 --out "$work/done/$name.json" >>"$OUT/measured.jsonl" 2>"$work/err" || { grep -v "^ *$" "$work/err" | tail -4; continue; }
  "$capture" --no-counters --out "$work/$name.nlcap" -- python3 bench/advice/pairs.py loop "$name" --steps 12 2>"$work/err" || tail -3 "$work/err"
  gzip -9 "$work/done/$name.json"
  tar -C "$work" -czf "$work/done/$name.nlcap.tar.gz" "$name.nlcap"
done
tar -C "$work/done" -cf "$OUT/captures.tar" .
rm -rf "$work"
ls -la "$OUT"
