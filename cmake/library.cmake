# libferry: include/ferry.h over the rooms, shared and static; packages that find it. In both
# only ferry_* is seen from outside. A static one is what the shared one is made of, in one
# object whose other names are local.
set(ferry_soversion 0)
set(exports ${CMAKE_SOURCE_DIR}/src/library/exports.map)
add_library(ferry_shared SHARED cmake/empty.c)
set_target_properties(ferry_shared PROPERTIES OUTPUT_NAME ferry EXPORT_NAME ferry
  VERSION ${PROJECT_VERSION} SOVERSION ${ferry_soversion} LINK_DEPENDS ${exports}
  LINKER_LANGUAGE CXX)
target_include_directories(ferry_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)
target_link_options(ferry_shared PRIVATE -Wl,--as-needed -Wl,--version-script=${exports})
if(NOT FERRY_SANITIZE)
  target_link_options(ferry_shared PRIVATE -Wl,--no-undefined)
endif()
target_link_libraries(ferry_shared PRIVATE
  -Wl,--whole-archive ferry_library -Wl,--no-whole-archive)

set(archives library decode foreign align corpus infer infer_plain model text format proto recipe
  device cpu_plain base)
list(TRANSFORM archives PREPEND ferry_)
list(APPEND archives ${infer_kernels} ${vector_kernels})
set(members "")
foreach(archive ${archives})
  list(APPEND members $<TARGET_FILE:${archive}>)
endforeach()
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/libferry.a
  COMMAND ${CMAKE_COMMAND} -E rm -f libferry.o libferry.a
  COMMAND ${CMAKE_LINKER} -r -o libferry.o --whole-archive $<TARGET_FILE:ferry_library>
    --no-whole-archive --start-group ${members} --end-group
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden libferry.o
  COMMAND ${CMAKE_AR} rcs libferry.a libferry.o
  COMMAND ${CMAKE_COMMAND} -E rm -f libferry.o
  DEPENDS ${archives} WORKING_DIRECTORY ${CMAKE_BINARY_DIR} VERBATIM COMMAND_EXPAND_LISTS)
add_custom_target(ferry_static ALL DEPENDS ${CMAKE_BINARY_DIR}/libferry.a)

include(CMakePackageConfigHelpers)
file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/ferry.pc.in ferry.pc @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/ferry-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(TARGETS ferry_shared EXPORT ferry LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  COMPONENT library)
install(FILES ${CMAKE_BINARY_DIR}/libferry.a DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(FILES include/ferry.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(FILES ${CMAKE_BINARY_DIR}/ferry.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT library)
install(EXPORT ferry NAMESPACE ferry:: FILE ferry-config.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ferry COMPONENT library)
install(FILES ${CMAKE_BINARY_DIR}/ferry-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ferry COMPONENT library)
set(FERRY_PYTHON_DIR "" CACHE STRING "place of the Python module below the prefix; empty: ask python3")
install(CODE "set(FERRY_PYTHON_DIR \"${FERRY_PYTHON_DIR}\")" COMPONENT library)
install(SCRIPT cmake/install_python.cmake COMPONENT library)
install(FILES examples/translate.c DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT library)
