#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# period.sh PART...: what only a machine with a GPU can measure, with the program that pack.sh packed. Results go to $OUT, a table is printed last.
#   deep     one ncu pass of `deep` against the same command line alone; light mode; application replay          (about 4 minutes)
#   why      `prove` explains a pair of C++ programs and one of PyTorch programs                                 (about 3 minutes)
#   batches  models at several batch sizes, for `what-if --apply batch=N`                                        (about 2 minutes)
#   power    smallest difference that `prove` and hyperfine find, a trial on each CPU at a time                  (about 5 minutes, 7 at most)
#   beside   power, and meanwhile, on four CPUs of their own, deep, batches and the C++ half of why               (about 7 minutes)
set -uo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." || exit 1
# shellcheck source=bench/gpu/carried.sh
source bench/gpu/carried.sh
export PYTHONPATH=$PWD/python OUT=${OUT:-/tmp/period} COLUMNS=150
mkdir -p "$OUT"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
table=$work/table
: >"$table"
began=$SECONDS
row() { printf '%s\n' "$*" | tee -a "$table"; }
# step SECONDS NAME COMMAND...: its output to NAME.out, its end and time to the table.
step() {
  local limit=$1 name=$2 start=$SECONDS
  shift 2
  timeout -k 5 "$limit" "$@" >"$work/$name.out" 2>"$work/$name.err"
  local status=$?
  row "$name: status $status, $((SECONDS - start)) s"
  ((status == 0)) || tail -n 4 "$work/$name.err"
  return $status
}
# Requests of a benchmark program: set-up, COUNT runs.
requests() { printf '{"do": "setup", "seed": 7}\n{"do": "run", "n": 5}\n{"do": "run", "n": %s}\n{"do": "teardown"}\n' "$1" >"$2"; }
compiled() { c++ -O2 -std=c++20 -pthread -Iinclude "examples/bench/gpu/$1_fusion.cc" -ldl -o "$work/$1"; }

# metrics.json of a bundle in a line.
bundle_row() {
  python3 - "$1" "$2" <<'PY' | tee -a "$table"
import json, sys
m = json.load(open(sys.argv[2] + "/metrics.json"))
tools = {t["tool"]: t["seconds"] for t in m["tools"]}
total = sum(k["total_ms"] for k in m["kernels"])
print(f"{sys.argv[1]}: counters for {m['counted']} of {m['selected']} selected kernels ({m['counted_ms']:.1f} of {total:.1f} ms); "
      + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in tools.items() if seconds) + f"; partial {m['partial']}")
for k in m["kernels"]:
    if k.get("reason"):
        print(f"  no counters: {k['kernel'][:60]}: {k['reason'][:140]}")
PY
}
newest() { find "$1" -mindepth 1 -maxdepth 1 -type d | sort | tail -1; }
kept() { tar -C "$1" -cJf "$OUT/$2.tar.xz" metrics.json plan.json env.json ncu/cmd.txt ncu/ncu.log config.yaml 2>/dev/null; }

deep() {
  local llama=(--config llama_8b --set model.hf.num_hidden_layers=2 --set workload.output_tokens=4)
  if step 200 deep neurolens deep "${llama[@]}" --set repeats=6 --top-n 8 --out "$work/deep" --json; then
    local bundle
    bundle=$(newest "$work/deep")
    bundle_row deep "$bundle"
    kept "$bundle" deep
    # The same command line, alone; another report and log.
    sed -n 1p "$bundle/ncu/cmd.txt" | sed "s#$bundle/ncu/#$work/alone_#g" >"$work/alone.sh"
    step 150 alone bash "$work/alone.sh"
    python3 - "$bundle" "$table" "$work/alone_ncu.log" <<'PY' | tee -a "$table"
import json, re, sys
m = json.load(open(sys.argv[1] + "/metrics.json"))
inside = next(t["seconds"] for t in m["tools"] if t["tool"] == "ncu")
alone = int(re.search(r"^alone: status 0, (\d+) s", open(sys.argv[2]).read(), re.M).group(1))
made = len(re.findall("==PROF== Profiling ", open(sys.argv[3]).read()))
print(f"ncu in deep {inside:.1f} s, alone {alone} s: ratio {inside / alone:.2f} (mark 1.3); results alone {made}")
PY
  fi
  # Kernels of milliseconds: a PM sample takes 100 us.
  if step 120 light neurolens deep --mode light --config llama_8b --set model.hf.num_hidden_layers=2 --set workload.output_tokens=1 --set workload.batch=32 \
    --set workload.prompt_tokens=2048 --set repeats=10 --top-n 20 --out "$work/light" --json; then
    bundle_row light "$(newest "$work/light")"
    kept "$(newest "$work/light")" light
  fi
  compiled baseline && requests 20 "$work/few" &&
    if step 90 application neurolens deep --replay application --metric-set roofline --top-n 4 --out "$work/application" --json -- sh -c "$work/baseline <$work/few"; then
      bundle_row application "$(newest "$work/application")"
      kept "$(newest "$work/application")" application
    fi
}

explained() {
  python3 - "$1" "$2" <<'PY' | tee -a "$table"
import json, sys
r = json.load(open(sys.argv[2]))
s, why = r.get("speedup") or {}, r.get("why") or {}
print(f"{sys.argv[1]}: {r['verdict']} {s}; basis {why.get('basis')}, recorded {why.get('recorded_a_ms')} and {why.get('recorded_b_ms')} ms, reason {why.get('reason')}")
for cause in why.get("causes", []):
    print(f"  {100 * cause['share']:.0f} %: {cause['text'][:200]}")
PY
  cp "$2" "$OUT/why_$1.json"
}

why() {
  fusion
  attention
}

fusion() {
  compiled baseline && compiled optimized && requests 6000 "$work/many" &&
    step 90 fusion neurolens prove --a "sh -c '$work/baseline <$work/many'" --b "sh -c '$work/optimized <$work/many'" --no-check-output --iterations 12 --warmup 1 --json \
      --html "$OUT/fusion.html"
  (($? > 2)) || explained fusion "$work/fusion.out"
}

attention() {
  requests 4000 "$work/steps"
  local python="python3 -m neurolens.bench examples/bench/gpu"
  step 270 attention neurolens prove --a "sh -c '$python/baseline_attention.py <$work/steps'" --b "sh -c '$python/optimized_attention.py <$work/steps'" \
    --no-check-output --iterations 12 --warmup 1 --json
  (($? > 2)) || explained attention "$work/attention.out"
}

batches() {
  local name
  for name in $(python3 bench/advice/batches.py list); do
    step 75 "$name" python3 bench/advice/batches.py measure "$name" --out "$work/batches"
  done
  tar -C "$work/batches" -cf "$OUT/batches.tar" .
  step 60 score python3 bench/advice/batches.py score "$work/batches"
  tee -a "$table" <"$work/score.out"
}

power() {
  local cpus
  mapfile -t cpus < <(python3 -c 'import os, sys; print(*sorted(os.sched_getaffinity(0))[int(sys.argv[1]):], sep="\n")' "${1:-1}")
  # Without a GPU in sight: reading its clocks would share the CPU with what is timed.
  CUDA_VISIBLE_DEVICES='' step 430 power python3 bench/prove/marks.py power --budget 20 --trials 20 --sizes 0.005 0.01 0.02 0.05 --cpus "${cpus[@]}" --limit 400
  cp "$work/power.out" "$OUT/power.json"
  tee -a "$table" <"$work/power.err"
  grep -A3 smallest_found "$work/power.out" | tee -a "$table"
}

beside() {
  power 4 &
  local running=$!
  taskset -pc 0-3 $$ >/dev/null
  deep
  batches
  fusion
  wait "$running"
}

for part in "$@"; do
  case $part in
    deep | why | fusion | attention | batches | power | beside) "$part" ;;
    *) echo "period: no part $part" >&2; exit 2 ;;
  esac
done
printf '\n== %s: %s s\n' "$*" "$((SECONDS - began))"
cat "$table"
cp "$table" "$OUT/table.txt"
