#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh OUT_DIR: OUT_DIR/report.html and OUT_DIR/compare.html, each page in one file; the application as app.html,
# app.js.gz and app.css.gz. The page names the script and the style by a hash of their bytes.
set -euo pipefail
# shellcheck source=web/tools.sh
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/tools.sh"

mkdir -p "$1"
out=$(readlink -f "$1")
cd "$WEB"
web_node "$out/npm.log"
web_packages product "$out/npm.log"
node node_modules/typescript/bin/tsc --noEmit -p tsconfig.product.json
node node_modules/vite/bin/vite.js build --logLevel warn --outDir "$out/dist" --emptyOutDir
mv "$out/dist/index.html" "$out/report.html"
# The mode names the page; both are built for production.
NODE_ENV=production node node_modules/vite/bin/vite.js build --mode compare --logLevel warn --outDir "$out/dist" --emptyOutDir
mv "$out/dist/compare.html" "$out/compare.html"
NODE_ENV=production node node_modules/vite/bin/vite.js build --mode app --logLevel warn --outDir "$out/dist" --emptyOutDir
mv "$out/dist/app.html" "$out/app.html"
for kind in js css; do
  assets=("$out"/dist/assets/*."$kind")
  ((${#assets[@]} == 1)) || web_die "the application has ${#assets[@]} files of $kind, not one"
  gzip -9nc "${assets[0]}" >"$out/app.$kind.gz"
done
