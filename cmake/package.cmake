# SPDX-License-Identifier: Apache-2.0
# The libraries of a package build (NL_PACKAGE), under the names that find_package and pkg-config give them: static
# ones of build/sysroot-ARCH (packaging/sysroot.sh), so that the program needs glibc alone.
set(NL_SYSROOT ${PROJECT_SOURCE_DIR}/build/sysroot-${NL_PACKAGE_ARCH})
set(triplet ${NL_PACKAGE_ARCH}-linux-gnu)
if(NOT EXISTS ${NL_SYSROOT}/usr/lib/${triplet})
  message(FATAL_ERROR "${NL_SYSROOT} is missing: use scripts/package, or run packaging/sysroot.sh ${NL_PACKAGE_ARCH} first")
endif()

# nl_static(<target> [<library>...]): lib<library>.a of the sysroot; none for a library of headers.
function(nl_static target)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  foreach(library ${ARGN})
    set(file ${NL_SYSROOT}/usr/lib/${triplet}/lib${library}.a)
    if(NOT EXISTS ${file})
      message(FATAL_ERROR "${file} is missing: run packaging/sysroot.sh ${NL_PACKAGE_ARCH}")
    endif()
    target_link_libraries(${target} INTERFACE ${file})
  endforeach()
endfunction()
nl_static(nlohmann_json::nlohmann_json)
nl_static(fmt::fmt)  # Debian has no static one
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)
nl_static(yaml-cpp yaml-cpp)
nl_static(PkgConfig::ISAL isal)
nl_static(PkgConfig::ZSTD zstd)
nl_static(PkgConfig::SQLITE sqlite3 z)
nl_static(PkgConfig::XXHASH xxhash)
nl_static(PkgConfig::TLS ssl crypto)
nl_static(PkgConfig::CRYPTO crypto)
nl_static(PkgConfig::SODIUM sodium)
add_library(zip_without_encryption STATIC packaging/zip_without_encryption.cc)
# Of what libarchive can use, zip needs these.
nl_static(PkgConfig::ARCHIVE archive bz2 lzma zstd z)
target_link_libraries(PkgConfig::ARCHIVE INTERFACE zip_without_encryption)

include_directories(SYSTEM ${NL_SYSROOT}/usr/include ${NL_SYSROOT}/usr/include/${triplet})
# The same bytes from every checkout, and no path of it inside.
add_compile_options(-ffile-prefix-map=/usr/${triplet}/include=/usr/include)
add_link_options(-static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,--strip-all)
