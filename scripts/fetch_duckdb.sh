#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fetch_duckdb.sh            makes sure a DuckDB 1.4 library and header are at hand
# fetch_duckdb.sh --locate   prints the library, then the folder of duckdb.h; never downloads
# fetch_duckdb.sh --pinned x86_64|aarch64   for packages: the pinned build of that architecture, whatever is
#                            installed; prints the library, then the folder of duckdb.h
# An installed 1.4.x wins (DUCKDB_ROOT, then pkg-config, then the usual prefixes); else the pinned build that the
# npm registry carries goes to .deps/duckdb, checked against scripts/duckdb.sha256. To fill .deps without a
# network, put the two .tgz files named there into .deps/ first.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

version=1.4.4
bindings_version=1.4.4-r.3
root=$PWD
own=$root/.deps/duckdb
stamp=build/duckdb.path # what was found last; the quick check reads only this

say() { printf 'duckdb: %s\n' "$*" >&2; }
die() { say "$*"; exit 3; }

machine=$(uname -m)
pinned=
if [[ ${1:-} == --pinned ]]; then
  pinned=${2:-}
  [[ $pinned == "$machine" ]] || own=$own-$pinned
  machine=$pinned
fi
case $machine in
  x86_64) arch=x64 ;;
  aarch64) arch=arm64 ;;
  *) arch= ;;
esac

# The header has no version in it, so the library is asked.
is_1_4() {
  python3 - "$1" 2>/dev/null <<'PY'
import ctypes, sys
version = ctypes.CDLL(sys.argv[1]).duckdb_library_version
version.restype = ctypes.c_char_p
sys.exit(not version().startswith(b"v1.4."))
PY
}

found_lib=
found_include=
try() { # LIBRARY INCLUDE_DIR
  [[ -f $1 && -f $2/duckdb.h ]] && is_1_4 "$1" || return 1
  found_lib=$1
  found_include=$2
}

locate() {
  local prefix triplet
  if [[ -n $pinned ]]; then
    own_build
    return
  fi
  if [[ -n ${DUCKDB_ROOT:-} ]]; then
    for prefix in lib . lib64; do
      try "$DUCKDB_ROOT/$prefix/libduckdb.so" "$DUCKDB_ROOT/include" && return
      try "$DUCKDB_ROOT/$prefix/libduckdb.so" "$DUCKDB_ROOT" && return
    done
    die "DUCKDB_ROOT=$DUCKDB_ROOT has no libduckdb.so of version 1.4 with its duckdb.h"
  fi
  if pkg-config --exists duckdb 2>/dev/null; then
    try "$(pkg-config --variable=libdir duckdb)/libduckdb.so" "$(pkg-config --variable=includedir duckdb)" && return
  fi
  triplet=$machine-linux-gnu
  for prefix in /usr/local /usr; do
    try "$prefix/lib/libduckdb.so" "$prefix/include" && return
    try "$prefix/lib/$triplet/libduckdb.so" "$prefix/include" && return
  done
  own_build
}

own_build() {
  [[ -f $own/VERSION && $(<"$own/VERSION") == "$version $machine" ]] || return 1
  found_lib=$own/lib/libduckdb.so
  found_include=$own/include
}

remember() {
  if [[ -n $pinned ]]; then
    printf '%s\n%s\n' "$found_lib" "$found_include"
    return
  fi
  mkdir -p build
  printf '%s\n%s\n%s\n' "$found_lib" "$found_include" "$machine ${DUCKDB_ROOT:-}" >"$stamp.$$"
  mv "$stamp.$$" "$stamp"
}

if [[ ${1:-} == --locate ]]; then
  locate || exit 1
  printf '%s\n%s\n' "$found_lib" "$found_include"
  exit 0
fi

if [[ -z $pinned && -f $stamp ]]; then
  { IFS= read -r lib && IFS= read -r include && IFS= read -r asked; } <"$stamp" || lib=
  if [[ -f $lib && -f $include/duckdb.h && $asked == "$machine ${DUCKDB_ROOT:-}" ]]; then exit 0; fi
fi
if locate; then
  remember
  exit 0
fi

[[ -n $arch ]] || die "no pinned build for $machine: install DuckDB 1.4 and set DUCKDB_ROOT to its prefix"
command -v npm >/dev/null || die "npm is missing, and no DuckDB 1.4 is installed (DUCKDB_ROOT names one)"

mkdir -p .deps
exec 9>.deps/.lock
flock 9
if locate; then # another process was quicker
  remember
  exit 0
fi

work=$(mktemp -d .deps/tmp.XXXXXX)
trap 'rm -rf "$root/$work"' EXIT

checked() { # FILE: true when its pinned sum matches
  local sum
  sum=$(awk -v f="${1##*/}" '$2 == f { print $1 }' scripts/duckdb.sha256)
  [[ -n $sum ]] && printf '%s  %s\n' "$sum" "$1" | sha256sum --check --status
}

get() { # PACKAGE TGZ: leaves a checked .deps/TGZ or $work/TGZ; sets $got
  local package=$1 tgz=$2 pause
  got=.deps/$tgz
  [[ -f $got ]] && checked "$got" && return
  got=$work/$tgz
  for pause in 0 3 10; do
    sleep "$pause"
    rm -f "$got"
    if npm pack --loglevel=error --fetch-retries=1 --cache "$work/npm" --pack-destination "$work" "$package" >>"$work/npm.log" 2>&1 </dev/null; then
      [[ -f $got ]] || die "npm pack of $package did not leave $tgz"
      checked "$got" || die "$tgz differs from the sum pinned in scripts/duckdb.sha256: refused"
      return
    fi
  done
  grep -iE 'code |reason' "$work/npm.log" | tail -n 2 >&2 || true
  die "npm could not fetch $package"
}

say "fetching $version for $machine (about 31 MB)"
got=
mkdir -p "$work/duckdb/lib" "$work/duckdb/include"
get "@duckdb/node-bindings-linux-$arch@$bindings_version" "duckdb-node-bindings-linux-$arch-$bindings_version.tgz"
tar -xzmf "$got" -C "$work/duckdb/lib" --strip-components=1 --no-same-owner package/libduckdb.so package/LICENSE
mv "$work/duckdb/lib/LICENSE" "$work/duckdb/LICENSE"
get "duckdb@$version" "duckdb-$version.tgz"
tar -xzmf "$got" -C "$work/duckdb/include" --strip-components=5 --no-same-owner package/src/duckdb/src/include/duckdb.h
[[ $machine != "$(uname -m)" ]] || is_1_4 "$root/$work/duckdb/lib/libduckdb.so" || die "the fetched library does not load here"
printf '%s %s\n' "$version" "$machine" >"$work/duckdb/VERSION"
rm -rf "$own"
mv "$work/duckdb" "$own"
locate || die "not found after it was fetched"
remember
