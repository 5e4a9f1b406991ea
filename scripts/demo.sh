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

cd "$NL_ROOT"
step 'import data/h200/*.json.gz'
lens import data/h200/*.json.gz
step 'findings h2d_pageable --limit 1        # where the time goes, and what to do about it'
lens findings h2d_pageable --limit 1
step 'compare base h2d_pageable              # what changed between two runs'
lens compare base h2d_pageable
step 'import data/h200/llama_python_step.nlc.gz    # recorded by: neurolens run -- python3 llama.py'
lens import data/h200/llama_python_step.nlc.gz
step 'idle @latest --limit 3 --gaps 0        # what the device waits for, named by CPU samples'
lens idle @latest --limit 3 --gaps 0
printf '\n%s\n' 'These runs were in a temporary store. Next, with a profile or a program of your own:
  ./neurolens analyze TRACE.json.gz --html report.html
  ./neurolens run -- python3 infer.py
  ./neurolens serve --open                     # all runs in the browser
  ./neurolens --help'
