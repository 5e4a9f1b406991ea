#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh OUT_DIR: OUT_DIR/report.html and OUT_DIR/compare.html, each page in one file. Installs the pinned packages first when
# package-lock.json changed. Vite 8 needs Node.js 20.19; Debian 12 has 18, so an older one fetches a pinned one from the
# npm registry into .deps/node.
set -euo pipefail
mkdir -p "$1"
out=$(readlink -f "$1")
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
node_version=22.23.3

die() { printf 'web: %s\n' "$*" >&2; exit 1; }

new_enough() {
  "$1" -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null
}

if ! new_enough node; then
  case $(uname -m) in
    x86_64) arch=x64 ;;
    aarch64) arch=arm64 ;;
    *) die "Node.js 20.19 or newer is needed, and there is no pinned one for $(uname -m)" ;;
  esac
  deps=$PWD/../.deps/node
  if ! new_enough "$deps/node_modules/node-linux-$arch/bin/node"; then
    mkdir -p "$deps"
    npm install --prefix "$deps" --no-save --no-audit --no-fund --ignore-scripts "node-linux-$arch@$node_version" \
      >"$out/npm.log" 2>&1 </dev/null || { tail -n 15 "$out/npm.log" >&2; die "no Node.js 20.19 or newer"; }
  fi
  export PATH=$deps/node_modules/node-linux-$arch/bin:$PATH
fi

# Builds of several presets share node_modules.
exec 8>.npm-lock
flock 8
if [[ ! -d node_modules/vite || package-lock.json -nt node_modules/.package-lock.json ]]; then
  # Not `npm ci`: npm 11 refuses a lock file that leaves out the packages of other operating systems. This one takes
  # the locked versions and checks their hashes all the same.
  npm install --no-save --no-audit --no-fund --ignore-scripts >"$out/npm.log" 2>&1 </dev/null || {
    tail -n 15 "$out/npm.log" >&2
    die "npm install failed; everything it said: $out/npm.log"
  }
  touch node_modules/.package-lock.json
fi
flock -u 8
node node_modules/typescript/bin/tsc --noEmit
node node_modules/vite/bin/vite.js build --logLevel warn --outDir "$out/dist" --emptyOutDir
mv "$out/dist/index.html" "$out/report.html"
# The mode names the page; what is built is what production gets.
NODE_ENV=production node node_modules/vite/bin/vite.js build --mode compare --logLevel warn --outDir "$out/dist" --emptyOutDir
mv "$out/dist/compare.html" "$out/compare.html"
