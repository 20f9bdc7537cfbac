# What `ferry version` says about the build. The commit is looked up at every build and kept
# in one small file, which is written only when it changes: a new commit compiles that file
# and links, nothing else. No path and no time go in, so that two clones give the same bytes.
set(FERRY_COMMIT "" CACHE STRING "the commit, where the source is a copy of a clone")
add_custom_target(ferry_commit
  COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} -DOUT=${CMAKE_BINARY_DIR}/commit.c
    -DCOMMIT=${FERRY_COMMIT} -P ${CMAKE_SOURCE_DIR}/cmake/commit.cmake
  BYPRODUCTS ${CMAKE_BINARY_DIR}/commit.c VERBATIM)
target_sources(ferry_cli PRIVATE ${CMAKE_BINARY_DIR}/commit.c)
add_dependencies(ferry_cli ferry_commit)

set(build "${CMAKE_BUILD_TYPE}")
if(FERRY_SANITIZE)
  string(APPEND build " with the ${FERRY_SANITIZE} sanitizer")
endif()
set(cpu "plain")
if(vector_kernels)
  set(cpu "plain, AVX2, AVX-512, AMX")
endif()
set(int8 "plain")
foreach(kernels "avx2 AVX2" "avx512 AVX-512" "vnni VNNI" "amx AMX" "dot ARM dot products")
  string(REGEX MATCH "^([a-z0-9]+) (.*)" parts ${kernels})
  if(ferry_infer_${CMAKE_MATCH_1} IN_LIST infer_kernels)
    string(APPEND int8 ", ${CMAKE_MATCH_2}")
  endif()
endforeach()
set(without "not compiled in")
set(cuda "no kernels compiled in")
if(fatbins)
  set(cuda "kernels for compute capability ${FERRY_CUDA_ARCHS}")
  if(FERRY_NVRTC)
    string(APPEND cuda ";${FERRY_NVRTC_ARCHS}")
  endif()
  string(REPLACE ";" ", " cuda "${cuda}")
endif()
set(opencl ${without})
if(FERRY_HAS_OPENCL)
  set(opencl "compiled in")
endif()
set(curl ${without})
if(CURL_FOUND)
  set(curl "libcurl ${CURL_VERSION}")
endif()

# pkg-config's names of the MPI libraries
set(package_openmpi ompi)
set(package_mpich mpich)
set(name_openmpi "Open MPI")
set(name_mpich "MPICH")
set(mpi "")
foreach(library ${ferry_mpi_found})
  pkg_check_modules(MPI_${library} QUIET ${package_${library}})
  list(APPEND mpi "${name_${library}} ${MPI_${library}_VERSION}")
endforeach()
string(REPLACE ";" ", " mpi "${mpi}")
if(NOT mpi)
  set(mpi ${without})
endif()

string(CONCAT libraries "SentencePiece ${SENTENCEPIECE_VERSION}, protobuf-c ${PROTOBUF_C_VERSION}, "
  "zlib ${ZLIB_VERSION},\\n           liblzma ${LZMA_VERSION}, libzstd ${ZSTD_VERSION}, "
  "Jansson ${JANSSON_VERSION}, utf8proc ${UTF8PROC_VERSION}, libyaml ${YAML_VERSION},\\n           "
  "libmicrohttpd ${MICROHTTPD_VERSION}")
foreach(fact build cpu int8 cuda opencl mpi curl libraries)
  string(TOUPPER VERSION_${fact} name)
  set_property(SOURCE src/cli/cmd_version.c APPEND PROPERTY COMPILE_DEFINITIONS
    ${name}="${${fact}}")
endforeach()
