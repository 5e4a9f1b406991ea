# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by ./neurolens, ./test and scripts/*: sourced, never run. Sets NL_ROOT, and gives set-up and build.
# Nothing here writes to stdout or reads stdin: both belong to the program that is run afterwards.

NL_ROOT=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")


nl_say() { printf 'neurolens: %s\n' "$*" >&2; }
nl_die() { nl_say "$*"; exit 3; }

# nl_setup build|test: packages, then DuckDB.
nl_setup() {
  bash "$NL_ROOT/scripts/setup.sh" "$1" || return
  bash "$NL_ROOT/scripts/fetch_duckdb.sh" || return
}

# True when nothing the program is made of changed since its last good build: CMake leaves that list, and every
# file and folder of it (a folder's own time covers files that were removed or added) must be older.
nl_current() {
  local dir=$NL_ROOT/build/release part parts=()
  [[ -x $dir/neurolens && -f $dir/.built && -f $dir/inputs.txt ]] || return 1
  while IFS= read -r part; do
    [[ -e $NL_ROOT/$part ]] || return 1
    parts+=("$NL_ROOT/$part")
  done <"$dir/inputs.txt"
  [[ -z $(find "${parts[@]}" -newer "$dir/.built" -print -quit) ]]
}

# Reads ninja's "[done/all] what" lines; silent for the first two seconds.
nl_progress() {
  local what=$1 line start=$SECONDS shown='' counts=''
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+/[0-9]+)\] ]] && counts=${BASH_REMATCH[1]}
    ((SECONDS - start >= 2)) || continue
    if [[ -t 2 ]]; then
      printf '\r\033[Kneurolens: building %s %s' "$what" "$counts" >&2
    elif [[ -z $shown ]]; then
      nl_say "building $what (build/$what/build.log)"
    fi
    shown=1
  done
  if [[ -n $shown && -t 2 ]]; then printf '\r\033[K' >&2; fi
}

nl_configure() {
  local preset=$1 dir=$NL_ROOT/build/$1 cached
  if [[ -f $dir/CMakeCache.txt ]]; then
    # A tree that was moved or copied carries absolute paths of its old place.
    cached=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$dir/CMakeCache.txt")
    [[ $cached == "$NL_ROOT" ]] || rm -rf "$dir"
  fi
  [[ -f $dir/build.ninja && ! $NL_ROOT/CMakePresets.json -nt $dir/.configured ]] && return 0
  mkdir -p "$dir"
  if ! (cd "$NL_ROOT" && cmake --preset "$preset") >"$dir/configure.log" 2>&1 </dev/null; then
    tail -n 40 "$dir/configure.log" >&2
    nl_say "configuring $preset failed; everything it said: build/$preset/configure.log"
    return 1
  fi
  touch "$dir/.configured"
}

# What broke, without the warnings and command lines around it.
nl_build_errors() {
  local failed
  failed=$(awk '/^FAILED: /{ on = 1 } /^\[[0-9]+\/[0-9]+\] /{ on = 0 } on' "$1")
  grep -A 4 -E '^[^ ]*: (fatal )?error: |undefined reference|^collect2: ' <<<"$failed" && return
  grep -A 10 -E '^ninja: error|CMake Error' "$1" && return
  tail -n 40 "$1"
}

# nl_build PRESET [TARGET...]: quiet unless it is slow or fails. One build of a folder at a time.
nl_build() {
  local preset=$1 dir=$NL_ROOT/build/$1 log=$NL_ROOT/build/$1/build.log
  shift
  mkdir -p "$NL_ROOT/build"
  (
    flock 9
    nl_configure "$preset" || exit 1
    touch "$dir/.building"
    local tool=ninja
    [[ -f $dir/build.ninja ]] || tool='make'  # preset capture-only, for machines without ninja
    if ! NINJA_STATUS='[%f/%t] ' "$tool" -j "$(nproc)" -C "$dir" "$@" 2>&1 </dev/null 9>&- | tee "$log" | nl_progress "$preset"; then
      nl_build_errors "$log" | head -n 60 >&2
      nl_say "building $preset failed; everything it said: build/$preset/build.log"
      exit 1
    fi
    # Only a build that surely brought the program up to date counts for nl_current.
    if (($# == 0)) || [[ " $* " == *' product '* ]]; then mv "$dir/.building" "$dir/.built"; fi
  ) 9>"$NL_ROOT/build/.lock-$preset"
}
