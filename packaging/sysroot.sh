#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sysroot.sh x86_64|aarch64: build/sysroot-ARCH, the libraries that a package of that architecture is linked with.
# They are Debian's, downloaded and checked by apt into a folder of ours: the packages of this machine stay as they
# are, and both architectures can be built on either. versions.txt in it names what was taken.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

say() { printf 'sysroot: %s\n' "$*" >&2; }
die() { say "$*"; exit 3; }

arch=${1:-}
case $arch in
  x86_64) debian=amd64 ;;
  aarch64) debian=arm64 ;;
  *) die 'usage: packaging/sysroot.sh x86_64|aarch64' ;;
esac
triplet=$arch-linux-gnu
sysroot=$PWD/build/sysroot-$arch
stamp=$sysroot/recipe.sha256
recipe=$(cat packaging/sysroot.txt packaging/sysroot.sh | sha256sum)
mkdir -p build
exec 9>"build/.lock-sysroot-$arch"
flock 9
if [[ -f $stamp && $(<"$stamp") == "$recipe" ]]; then exit 0; fi

# shellcheck source=/dev/null
system=$(. /etc/os-release && printf '%s' "${ID:-} ${VERSION_ID:-}")
[[ $system == 'debian 12' ]] || die "packages are built on Debian 12, and this is $system"
command -v "$triplet-gcc" >/dev/null || die "$triplet-gcc is missing: scripts/setup.sh package installs it"

packages=()
sources=()
while read -r name rest; do
  case $name in
    '' | '#'*) ;;
    source) sources+=("$rest") ;;
    *) packages+=("$name:$debian") ;;
  esac
done <packaging/sysroot.txt

work=$(mktemp -d "$PWD/build/tmp-sysroot.XXXXXX")
trap 'rm -rf "$work"' EXIT
log=$PWD/build/sysroot-$arch.log
: >"$log"

# The machine's own sources and keys, with the source packages added.
mkdir -p "$work"/apt/{lists/partial,cache/archives/partial,sources} "$work"/{debs,new}
touch "$work/apt/status"
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
  case $list in
    *.list)
      [[ -f $list ]] || continue
      sed -n 's/^deb \(.*\)/deb \1\ndeb-src \1/p' "$list" >"$work/apt/sources/${list##*/}"
      ;;
    *.sources) sed 's/^Types:.*/Types: deb deb-src/' "$list" >"$work/apt/sources/${list##*/}" ;;
  esac
done
cat >"$work/apt.conf" <<EOF
Dir::State "$work/apt";
Dir::State::status "$work/apt/status";
Dir::State::lists "$work/apt/lists";
Dir::Cache "$work/apt/cache";
Dir::Etc::sourcelist "-";
Dir::Etc::sourceparts "$work/apt/sources";
APT::Architecture "$debian";
APT::Architectures { "$debian"; };
APT::Sandbox::User "";
Acquire::Retries "3";
EOF
apt() { APT_CONFIG=$work/apt.conf apt-get -qq "$@" >>"$log" 2>&1 </dev/null; }

say "downloading ${#packages[@]} libraries for $arch"
if ! (apt update && cd "$work/debs" && apt download "${packages[@]}" && apt source --download-only "${sources[@]}"); then
  tail -n 10 "$log" >&2
  die "apt could not download the libraries for $arch; everything it said: build/sysroot-$arch.log"
fi
for deb in "$work"/debs/*.deb; do
  dpkg -x "$deb" "$work/new"
  # shellcheck disable=SC2016 # dpkg-deb's own variables
  dpkg-deb -W --showformat='${Package} ${Version} ${Architecture}\n' "$deb"
done >"$work/versions.txt"

# Debian's ISA-L has no static library. Only what reads and writes gzip is compiled.
dsc=$(echo "$work"/debs/libisal_*.dsc)
dpkg-source -x "$dsc" "$work/isal" >>"$log" 2>&1
printf 'libisal %s source\n' "$(sed -n 's/^Version: //p' "$dsc" | tail -n 1)" >>"$work/versions.txt"
isal_arch=
[[ $arch == aarch64 ]] && isal_arch=aarch64
if ! make -C "$work/isal" -f Makefile.unx lib units='igzip crc' host_cpu="$arch" arch="$isal_arch" DEBUG= DEBUG_nasm= \
  CC="$triplet-gcc" AR="$triplet-ar" >>"$log" 2>&1; then
  tail -n 10 "$log" >&2
  die "ISA-L could not be compiled for $arch; everything it said: build/sysroot-$arch.log"
fi
cp "$work/isal/bin/isa-l.a" "$work/new/usr/lib/$triplet/libisal.a"
rm -rf "$work/new/usr/share/man"

LC_ALL=C sort "$work/versions.txt" >"$work/new/versions.txt"
rm -rf "$sysroot"
mv "$work/new" "$sysroot"
printf '%s\n' "$recipe" >"$stamp"
