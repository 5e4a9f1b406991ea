# SPDX-License-Identifier: Apache-2.0
# The compiler of the architecture that a package is for. Debian's is ARCH-linux-gnu-g++ both where it is the
# machine's own and where it is a cross compiler, so a package is built the same way on either.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES NL_PACKAGE_ARCH)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${NL_PACKAGE_ARCH})
set(CMAKE_C_COMPILER ${NL_PACKAGE_ARCH}-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER ${NL_PACKAGE_ARCH}-linux-gnu-g++)
# Tools run here; a library of this machine must not be found for the other architecture.
set(CMAKE_FIND_ROOT_PATH ${CMAKE_CURRENT_LIST_DIR}/../build/sysroot-${NL_PACKAGE_ARCH})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
