#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# setup.sh [build|test|package]: installs what scripts/packages.txt lists and the machine lacks. "test" adds the tools
# of the test suite, "package" those of scripts/package. A stamp newer than dpkg's own record makes every later call a matter of milliseconds.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

kind=${1:-build}
sections=build
[[ $kind == build ]] || sections="build $kind"
mkdir -p build
stamp=build/setup-$kind.stamp
log=build/setup.log
place="${HOSTNAME:-} ${HOSTTYPE:-}"

say() { printf 'setup: %s\n' "$*" >&2; }

if [[ -f $stamp && $(<"$stamp") == "$place" && $stamp -nt scripts/packages.txt && $stamp -nt /var/lib/dpkg/status ]]; then
  exit 0
fi

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  for tool in g++ cmake ninja npm python3; do
    command -v "$tool" >/dev/null && continue
    say "no apt here and no $tool: install what scripts/packages.txt lists, under this system's names"
    exit 3
  done
  printf '%s\n' "$place" >"$stamp"
  exit 0
fi

wanted=()
section=
while read -r name word tool; do
  case $name in
    '' | '#'*) continue ;;
    '['*']') section=${name:1:-1}; continue ;;
  esac
  [[ " $sections " == *" $section "* ]] || continue
  [[ $word == unless ]] && command -v "$tool" >/dev/null && continue
  wanted+=("$name")
done <scripts/packages.txt

declare -A installed=()
while read -r name state; do
  if [[ $state == installed ]]; then installed[$name]=1; fi
done < <(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null || true)
missing=()
for name in "${wanted[@]}"; do
  [[ -n ${installed[$name]:-} ]] || missing+=("$name")
done
if ((${#missing[@]} == 0)); then
  printf '%s\n' "$place" >"$stamp"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 && -t 2 ]]; }; then
    as_root=(sudo)
  else
    say "${#missing[@]} packages are missing and this user cannot install them; as root, run:"
    printf '  apt-get update && apt-get install -y --no-install-recommends %s\n' "${missing[*]}" >&2
    exit 3
  fi
fi

# Tools are wanted, not their daemons: SYSTEMD_OFFLINE keeps systemctl from starting what a package brings.
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive SYSTEMD_OFFLINE=1 apt-get -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 \
    "$@" >>"$log" 2>&1 </dev/null
}

say "installing ${#missing[@]} packages: ${missing[*]}"
: >"$log"
done=
for pause in 0 3 10; do
  sleep "$pause"
  if apt update && apt install --no-install-recommends "${missing[@]}"; then
    done=1
    break
  fi
done
if [[ -z $done ]]; then
  tail -n 15 "$log" >&2
  say "apt-get failed three times; everything it said: $log"
  exit 3
fi
# Nor is it started at the next boot.
mapfile -t units < <(dpkg -L "${missing[@]}" 2>/dev/null | sed -n 's|^\(/usr\)\?/lib/systemd/system/\([^@/]*\.service\)$|\2|p')
if ((${#units[@]})) && command -v systemctl >/dev/null; then
  "${as_root[@]}" env SYSTEMD_OFFLINE=1 systemctl disable "${units[@]}" >>"$log" 2>&1 || true
fi
printf '%s\n' "$place" >"$stamp"
