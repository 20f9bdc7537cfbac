# One module for each MPI library found (src/dist/comm/mpi_calls.h says why): Debian's wrappers
# for both, or whatever mpicc is. FERRY_MPI=off leaves them out.
set(FERRY_MPI "auto" CACHE STRING "MPI modules to build: auto, openmpi, mpich, off")
set_property(CACHE FERRY_MPI PROPERTY STRINGS auto openmpi mpich off)

# The options of a compiler wrapper: what it would call, less the compiler itself.
function(ferry_mpi_flags out wrapper)
  foreach(question --showme -show)
    execute_process(COMMAND ${wrapper} ${question} OUTPUT_VARIABLE line ERROR_QUIET
      RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT failed)
      separate_arguments(words UNIX_COMMAND "${line}")
      list(REMOVE_AT words 0)
      set(${out} ${words} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

function(ferry_mpi_module library wrapper)
  ferry_mpi_flags(flags ${wrapper})
  set(includes ${flags})
  list(FILTER includes INCLUDE REGEX "^-I")
  list(TRANSFORM includes REPLACE "^-I" "")
  set(links ${flags})
  list(FILTER links INCLUDE REGEX "^-(L|l|Wl)")
  add_library(ferry-mpi-${library} MODULE src/dist/comm/mpi/mpi_calls.c)
  set_target_properties(ferry-mpi-${library} PROPERTIES PREFIX "")
  target_include_directories(ferry-mpi-${library} PRIVATE src)
  target_include_directories(ferry-mpi-${library} SYSTEM PRIVATE ${includes})
  target_link_libraries(ferry-mpi-${library} PRIVATE ${links})
  # MPICH's "no statuses" is the address 1, which gcc takes for an array without elements.
  target_compile_options(ferry-mpi-${library} PRIVATE
    $<$<C_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
  add_dependencies(ferry ferry-mpi-${library})
  install(TARGETS ferry-mpi-${library} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/ferry) # where ferry looks
  set(ferry_mpi_found ${ferry_mpi_found} ${library} PARENT_SCOPE)
endfunction()

set(ferry_mpi_found "")
if(NOT FERRY_MPI STREQUAL "off")
  find_program(MPICC_OPENMPI NAMES mpicc.openmpi)
  find_program(MPICC_MPICH NAMES mpicc.mpich)
  find_program(MPICC NAMES mpicc)
  if(MPICC AND NOT MPICC_OPENMPI AND NOT MPICC_MPICH)
    execute_process(COMMAND ${MPICC} --showme:version OUTPUT_QUIET ERROR_QUIET
      RESULT_VARIABLE is_mpich)
    if(is_mpich)
      set(MPICC_MPICH ${MPICC})
    else()
      set(MPICC_OPENMPI ${MPICC})
    endif()
  endif()
  if(MPICC_OPENMPI AND FERRY_MPI MATCHES "auto|openmpi")
    ferry_mpi_module(openmpi ${MPICC_OPENMPI})
  endif()
  if(MPICC_MPICH AND FERRY_MPI MATCHES "auto|mpich")
    ferry_mpi_module(mpich ${MPICC_MPICH})
  endif()
  if(NOT ferry_mpi_found)
    message(WARNING "no MPI found: ferry will train on one machine only; install "
      "what Debian calls libopenmpi-dev and configure again, or say -DFERRY_MPI=off")
  endif()
endif()
