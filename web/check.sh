#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh format|lint|types|test|all|fix: checks web/, or formats it and applies the safe repairs of the linter.
# Exit status: 0 all good, 1 problems (printed one per line), 3 the tools cannot be installed.
set -euo pipefail
# shellcheck source=web/tools.sh
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/tools.sh"

build=$(dirname "$WEB")/build
web_node "$build/web-npm.log"
web_packages all "$build/web-npm.log"
cd "$WEB"
export NO_COLOR=1

# "file:line: what" for every problem that Biome reports.
biome() {
  local report status=0
  report=$(node node_modules/@biomejs/biome/bin/biome "$@" --error-on-warnings --reporter=github --max-diagnostics=none . 2>&1) || status=$?
  ((status == 0)) && return
  sed -nE 's/^::(error|warning|notice) title=([^,]*),file=([^,]*),line=([0-9]+),.*::(.*)$/\3:\4: \5 (\2)/p' <<<"$report" | grep . || printf '%s\n' "$report"
  return 1
}

run() {
  case $1 in
    format) biome format ;;
    lint) biome lint && biome check --formatter-enabled=false --linter-enabled=false ;;
    types) node node_modules/typescript/bin/tsc --noEmit --pretty false ;;
    test) node node_modules/vitest/vitest.mjs run --reporter=tap-flat ;;
    fix) node node_modules/@biomejs/biome/bin/biome check --write . >/dev/null || true ;;
    all) for part in format lint types test; do run "$part" || return 1; done ;;
    *) web_die 'usage: check.sh format|lint|types|test|all|fix' ;;
  esac
}

run "${1:-all}"
