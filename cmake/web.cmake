# SPDX-License-Identifier: Apache-2.0
# nl_web_build(<file>...): builds web/ into these files with Vite, when a file of web/ changed.
# nl_web_pages(<target> <symbol> <file>...): embeds built files into <target>, each under its symbol (cmake/embed.cmake).
# Without Node.js and npm the files are empty and the program says so when asked for one.
include(${CMAKE_CURRENT_LIST_DIR}/embed.cmake)

function(nl_web_build)
  set(web "${PROJECT_SOURCE_DIR}/web")
  set(out "${PROJECT_BINARY_DIR}/web")
  file(MAKE_DIRECTORY "${out}")
  find_program(NL_NPM npm)
  find_program(NL_NODE node)
  if(NOT NL_NPM OR NOT NL_NODE OR NL_FUZZ)
    # The fuzz build tests no page.
    if(NOT NL_FUZZ)
      message(STATUS "web pages: no node or npm, so `neurolens report --format html` and `compare --html` will be refused, and `serve` has no application")
    endif()
    file(WRITE "${out}/empty" "")
    return()
  endif()
  set(files ${ARGN})
  list(TRANSFORM files PREPEND "${out}/")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${web}/src/*")
  list(FILTER sources EXCLUDE REGEX "\\.test\\.ts$")
  file(GLOB entries CONFIGURE_DEPENDS "${web}/*.html")
  add_custom_command(
    OUTPUT ${files}
    COMMAND bash "${web}/build.sh" "${out}"
    DEPENDS ${sources} ${entries} "${web}/build.sh" "${web}/tools.sh" "${web}/package.json" "${web}/package-lock.json"
            "${web}/tsconfig.json" "${web}/tsconfig.product.json" "${web}/vite.config.ts"
    COMMENT "Building the pages"
    VERBATIM)
  set(NL_HAS_WEB ON PARENT_SCOPE)
endfunction()

function(nl_web_pages target)
  set(out "${PROJECT_BINARY_DIR}/web")
  while(ARGN)
    list(POP_FRONT ARGN symbol file)
    if(NL_HAS_WEB)
      nl_embed(${target} ${symbol} "${out}/${file}")
    else()
      nl_embed(${target} ${symbol} "${out}/empty")
    endif()
  endwhile()
endfunction()
