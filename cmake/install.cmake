# `make install`: the program, its configurations, manual pages, completions, documentation and
# licences. Every place is relative to the prefix, which is chosen when installing.
file(RELATIVE_PATH from_program /prefix/${CMAKE_INSTALL_BINDIR}
  /prefix/${CMAKE_INSTALL_DATADIR}/ferry/configs)
set_property(SOURCE src/cli/config_name.c APPEND PROPERTY COMPILE_DEFINITIONS
  CONFIG_NAME_INSTALLED="${from_program}")

# Made by the program itself, from its tables of options.
set(pages ${CMAKE_BINARY_DIR}/pages)
add_custom_command(OUTPUT ${pages}/made
  COMMAND ${CMAKE_SOURCE_DIR}/tools/make-pages $<TARGET_FILE:ferry> ${pages} ${from_program}
  DEPENDS ferry tools/make-pages packaging/completion/ferry.bash packaging/completion/ferry.zsh
    CHANGELOG.md
  VERBATIM)
if(CMAKE_CROSSCOMPILING)
  add_custom_target(ferry_pages DEPENDS ${pages}/made)
else()
  add_custom_target(ferry_pages ALL DEPENDS ${pages}/made)
endif()

install(TARGETS ferry RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
file(GLOB configurations CONFIGURE_DEPENDS configs/*.yaml)
install(FILES ${configurations} DESTINATION ${CMAKE_INSTALL_DATADIR}/ferry/configs)
install(DIRECTORY recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/ferry USE_SOURCE_PERMISSIONS)
install(DIRECTORY ${pages}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
install(FILES ${pages}/completion/ferry
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${pages}/completion/_ferry
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES README.md CHANGELOG.md SECURITY.md LICENSE packaging/licences.txt
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY packaging/nginx packaging/systemd DESTINATION ${CMAKE_INSTALL_DOCDIR}/packaging)
