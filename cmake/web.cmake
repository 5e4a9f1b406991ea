# SPDX-License-Identifier: Apache-2.0
# nl_web_page(<target> <symbol>): builds web/ into one page with Vite, when a file of web/ changed, and embeds it into
# <target> (cmake/embed.cmake). Without Node.js and npm the page is empty and the program says so when asked for one.
include(${CMAKE_CURRENT_LIST_DIR}/embed.cmake)

function(nl_web_page target symbol)
  set(web "${PROJECT_SOURCE_DIR}/web")
  set(page "${PROJECT_BINARY_DIR}/web/report.html")
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/web")
  find_program(NL_NPM npm)
  find_program(NL_NODE node)
  if(NOT NL_NPM OR NOT NL_NODE OR NL_FUZZ)
    # The fuzz build tests no page.
    if(NOT NL_FUZZ)
      message(STATUS "web page: no node or npm, so `neurolens report --format html` will be refused")
    endif()
    set(page "${PROJECT_BINARY_DIR}/web/empty.html")
    file(WRITE "${page}" "")
    nl_embed(${target} ${symbol} "${page}")
    return()
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${web}/src/*")
  add_custom_command(
    OUTPUT "${page}"
    COMMAND bash "${web}/build.sh" "${PROJECT_BINARY_DIR}/web"
    DEPENDS ${sources} "${web}/build.sh" "${web}/index.html" "${web}/package.json" "${web}/package-lock.json"
            "${web}/tsconfig.json" "${web}/vite.config.ts"
    COMMENT "Building the report page"
    VERBATIM)
  nl_embed(${target} ${symbol} "${page}")
endfunction()
