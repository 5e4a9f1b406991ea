# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# To be sourced from the root of the repository, on a machine that pack.sh packed for: unpacks the program to $NL (default /tmp/nl) and puts it on PATH.
export NL=${NL:-/tmp/nl}
if [[ ! -x $NL/bin/neurolens ]]; then
  mkdir -p "$NL"
  python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' build/carried/neurolens.tar.xz "$NL"
fi
export PATH=$NL/bin:$PATH NEUROLENS_BIN=$NL/bin/neurolens NEUROLENS_PYTHON=$PWD/python NEUROLENS_STORE=${NEUROLENS_STORE:-$NL/store}
