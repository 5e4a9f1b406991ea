# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by build.sh and check.sh: Node.js and the pinned packages. Vite 8 needs Node.js 20.19; Debian 12 has 18, so an
# older one fetches a pinned one from the npm registry into .deps/node.

WEB=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
WEB_NODE_VERSION=22.23.3

web_die() { printf 'web: %s\n' "$*" >&2; exit 3; }

web_new_enough() {
  "$1" -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null
}

# web_npm LOG ARGUMENT...: npm, silent unless it fails.
web_npm() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  npm "$@" --no-audit --no-fund --ignore-scripts >"$log" 2>&1 </dev/null && return
  tail -n 15 "$log" >&2
  web_die "npm $1 failed; full output: $log"
}

# web_node LOG: puts a Node.js that is new enough on PATH.
web_node() {
  local deps arch
  command -v npm >/dev/null || web_die 'npm is not installed'
  web_new_enough node && return
  case $(uname -m) in
    x86_64) arch=x64 ;;
    aarch64) arch=arm64 ;;
    *) web_die "Node.js 20.19 or newer is needed, and there is no pinned one for $(uname -m)" ;;
  esac
  deps=$(dirname "$WEB")/.deps/node
  export PATH=$deps/node_modules/node-linux-$arch/bin:$PATH
  web_new_enough node && return
  mkdir -p "$deps"
  web_npm "$1" install --prefix "$deps" --no-save "node-linux-$arch@$WEB_NODE_VERSION"
}

# web_packages product|all LOG: installs from package-lock.json what is missing or older than it. The product needs
# less; once everything is installed, that stays so. Builds of several presets share node_modules.
web_packages() {
  local wanted=vite omit=--omit=dev
  if [[ $1 == all || -d $WEB/node_modules/vitest ]]; then
    wanted=vitest omit=--include=dev
  fi
  (
    flock 8
    [[ -d $WEB/node_modules/$wanted && ! $WEB/package-lock.json -nt $WEB/node_modules/.package-lock.json ]] && exit 0
    cd "$WEB" || exit 3
    web_npm "$2" ci "$omit"
    touch node_modules/.package-lock.json
  ) 8>"$WEB/.npm-lock"
}
