#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pack.sh [BUILD]: the program of BUILD (default build/release) for a machine without our libraries, into build/carried/neurolens.tar.xz. Of the
# libraries that Debian 12 has, those with an archive are linked into it; the others, DuckDB and hyperfine go with it. Runs where glibc is 2.36 or newer.
# carried.sh unpacks it there. Needs a finished build.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
build=$(readlink -f "${1:-build/release}")
out=$PWD/build/carried
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/lib/neurolens" "$out"

# As cmake/package.cmake has it for packages: libarchive's zip without what needs nettle, and so without libxml2 and its 33 MB of ICU.
c++ -O2 -c packaging/zip_without_encryption.cc -o "$work/zip.o"
link=$(ninja -C "$build" -t commands neurolens | tail -1)
folder=/usr/lib/$(uname -m)-linux-gnu
archive=""
for name in yaml-cpp zstd sqlite3 xxhash ssl crypto sodium archive bz2 lzma z; do
  [[ -f $folder/lib$name.a ]] || { echo "pack: $folder/lib$name.a is missing" >&2; exit 3; }
  link=$(sed -E "s# [^ ]*/lib$name\.so[0-9.]*##g" <<<"$link")
  archive+=" $folder/lib$name.a"
done
link=${link#*&& }
link=${link%% && :}
# shellcheck disable=SC2086  # words of a command line of ninja
(cd "$build" && eval "${link/ -o neurolens / -o $work/bin/neurolens }" "$work/zip.o" $archive -static-libstdc++ -static-libgcc -Wl,--gc-sections '-Wl,-rpath,\$ORIGIN/../lib/neurolens')
cp "$build/neurolens-capture" "$build/neurolens-peaks" "$work/bin/"
cp "$build/libneurolens_capture.so" "$work/lib/neurolens/"
cp -L "$(scripts/fetch_duckdb.sh --locate | head -1)" "$work/lib/neurolens/libduckdb.so"
ldd "$work/bin/neurolens" "$work/bin/neurolens-capture" "$work/bin/neurolens-peaks" | awk '$2 == "=>" && $3 ~ "^/" { print $3 }' | sort -u |
  while read -r library; do
    case $library in
      */libc.so.* | */libm.so.* | */libgcc_s.so.* | */libstdc++.so.* | */libdl.so.* | */libpthread.so.*) ;;  # every machine with PyTorch has these
      *) cp -L "$library" "$work/lib/neurolens/" ;;
    esac
  done
rm "$work/zip.o"
(cd "$work" && apt-get download hyperfine >/dev/null 2>&1 && dpkg -x hyperfine_*.deb deb && mv deb/usr/bin/hyperfine bin/)
rm -rf "$work/deb" "$work"/hyperfine_*.deb
strip --strip-unneeded "$work"/bin/* "$work"/lib/neurolens/*
tar -C "$work" --sort=name --owner=0 --group=0 -cf - bin lib | xz -T1 --x86 --lzma2=preset=9,dict=128MiB >"$out/neurolens.tar.xz"
tar -tvJf "$out/neurolens.tar.xz"
du -b "$out/neurolens.tar.xz"
