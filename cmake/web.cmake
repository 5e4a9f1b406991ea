# SPDX-License-Identifier: Apache-2.0
# nl_web_pages(<target> <symbol> <page>...): builds web/ into one file per page with Vite, when a file of web/ changed, and
# embeds each into <target> under its symbol (cmake/embed.cmake). Without Node.js and npm the pages are empty and the
# program says so when asked for one.
include(${CMAKE_CURRENT_LIST_DIR}/embed.cmake)

function(nl_web_pages target)
  set(web "${PROJECT_SOURCE_DIR}/web")
  set(out "${PROJECT_BINARY_DIR}/web")
  file(MAKE_DIRECTORY "${out}")
  find_program(NL_NPM npm)
  find_program(NL_NODE node)
  set(symbols "")
  set(pages "")
  while(ARGN)
    list(POP_FRONT ARGN symbol page)
    list(APPEND symbols ${symbol})
    list(APPEND pages "${out}/${page}.html")
  endwhile()
  if(NOT NL_NPM OR NOT NL_NODE OR NL_FUZZ)
    # The fuzz build tests no page.
    if(NOT NL_FUZZ)
      message(STATUS "web pages: no node or npm, so `neurolens report --format html` and `compare --html` will be refused")
    endif()
    file(WRITE "${out}/empty.html" "")
    foreach(symbol ${symbols})
      nl_embed(${target} ${symbol} "${out}/empty.html")
    endforeach()
    return()
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${web}/src/*")
  list(FILTER sources EXCLUDE REGEX "\\.test\\.ts$")
  file(GLOB entries CONFIGURE_DEPENDS "${web}/*.html")
  add_custom_command(
    OUTPUT ${pages}
    COMMAND bash "${web}/build.sh" "${out}"
    DEPENDS ${sources} ${entries} "${web}/build.sh" "${web}/tools.sh" "${web}/package.json" "${web}/package-lock.json"
            "${web}/tsconfig.json" "${web}/tsconfig.product.json" "${web}/vite.config.ts"
    COMMENT "Building the pages"
    VERBATIM)
  foreach(symbol page IN ZIP_LISTS symbols pages)
    nl_embed(${target} ${symbol} "${page}")
  endforeach()
endfunction()
