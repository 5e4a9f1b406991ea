#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles with ccache where it is installed: `./test` builds the program again in fresh clones. The sloppiness is what ccache asks
# for with precompiled headers. The other two let one clone use what another compiled; paths in messages and debug information are
# relative to the checkout (CMakeLists.txt).
command -v ccache >/dev/null || exec "$@"
here=${0%/*}
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
export CCACHE_BASEDIR="${here%/*}" CCACHE_NOHASHDIR=1
exec ccache "$@"
