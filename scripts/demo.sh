#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo: real H200 recordings into a store that is thrown away at the end. Run by ./neurolens without arguments.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"

store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
lens() { "$NL_ROOT/build/release/neurolens" --store "$store" "$@"; }
step() { printf '\n$ neurolens %s\n' "$*"; }

# base goes last, so that @latest names it.
others=()
base=$NL_ROOT/data/h200/base.json.gz
for file in "$NL_ROOT"/data/h200/*.json.gz; do
  [[ $file == "$base" ]] || others+=("$file")
done
cd "$NL_ROOT"
step 'import data/h200/*.json.gz'
lens import "${others[@]#"$NL_ROOT/"}" "${base#"$NL_ROOT/"}"
step 'summary @latest'
lens summary @latest
step 'import data/h200/llama_python_step.nlc.gz   # recorded by neurolens run'
lens import data/h200/llama_python_step.nlc.gz
step 'idle @latest --limit 5'
lens idle @latest --limit 5
step 'ls'
lens ls
printf '\nThat was a throw-away store. Yours: ./neurolens import TRACE.json.gz (./neurolens --help for the rest)\n'
