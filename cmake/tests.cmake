# tests/test_X.c is one program; it links the rooms whose headers it includes, and with
# the device or a room above it also the kernels in double.
#
# A test that cannot run here says "skipped: REASON" and ends with status 77, which CTest
# counts as skipped; tools/test-summary lists the reasons.
#
# Labels: unit (tests/test_X.c), cli (tests/cli/X.sh), fuzz (replayed inputs). A file that
# holds the words "ctest: slow" in a comment of its first lines is also slow: it runs in
# the release build only. The test presets choose by these labels.
enable_testing()
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
ferry_kernels(f64 double)

# The loops around the matrix unit, with the unit in plain C, for processors that have none.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  ferry_infer_kernels(amx_emulated -march=x86-64-v4 -mprefer-vector-width=512 -mavx512vnni
    -DINFER_AMX_EMULATED)
endif()

# Kernels of device/gpu as C, run by fibres: a GPU for machines without one.
# Compiled once, for the device of the tests and for the stand-in of CUDA's driver.
add_library(standin_program OBJECT tests/standin/fibres.c tests/standin/program_float.c
  tests/standin/program_half.c tests/standin/program_bfloat.c)
set_target_properties(standin_program PROPERTIES POSITION_INDEPENDENT_CODE ON
  C_VISIBILITY_PRESET hidden)
target_include_directories(standin_program PRIVATE tests src)
add_library(ferry_standin STATIC tests/standin/fibre_device.c
  $<TARGET_OBJECTS:standin_program>)
target_include_directories(ferry_standin PUBLIC tests src)
target_link_libraries(ferry_standin PUBLIC ferry_device m)

# Ranks as threads of one process.
add_library(ferry_sim STATIC EXCLUDE_FROM_ALL tests/sim/comm_sim.c)
target_include_directories(ferry_sim PUBLIC tests src)
target_link_libraries(ferry_sim PUBLIC ferry_dist)

# Stand-ins for NVIDIA's libraries, found by test_cuda through its run path and by the
# program through LD_LIBRARY_PATH.
foreach(lib "cuda 1" "cublasLt 13" "nccl 2" "nvidia-ml 1")
  string(REPLACE " " ";" lib ${lib})
  list(GET lib 0 name)
  list(GET lib 1 version)
  string(TOLOWER ${name} file)
  string(REPLACE nvidia-ml nvml file ${file})
  add_library(standin_${name} SHARED tests/standin/lib${file}.c)
  set_target_properties(standin_${name} PROPERTIES OUTPUT_NAME ${name} SOVERSION ${version}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/standin C_VISIBILITY_PRESET hidden)
  target_include_directories(standin_${name} PRIVATE tests src)
endforeach()
target_sources(standin_cuda PRIVATE $<TARGET_OBJECTS:standin_program>)
target_link_libraries(standin_cuda PRIVATE Threads::Threads m)
target_link_libraries(standin_cublasLt PRIVATE standin_cuda)
target_link_libraries(standin_nccl PRIVATE standin_cuda)
add_library(standin_mpi_broken MODULE tests/standin/mpi_broken.c)
target_include_directories(standin_mpi_broken PRIVATE src)
set_target_properties(standin_mpi_broken PROPERTIES PREFIX ""
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/standin)
foreach(kind fp32:f fp16:h bf16:b)
  string(REPLACE ":" ";" kind ${kind})
  list(GET kind 0 name)
  list(GET kind 1 text)
  file(WRITE ${CMAKE_BINARY_DIR}/standin/${name}.fatbin ${text})
endforeach()

# The rooms whose headers a file of the tests includes, itself or through other headers of
# the tests.
function(ferry_test_rooms out source)
  set(rooms ferry_base)
  file(STRINGS ${source} lines REGEX "^#include \"[a-z0-9_/]+\\.h\"")
  foreach(line ${lines})
    string(REGEX REPLACE "^#include \"(.*)\".*" "\\1" path "${line}")
    if(EXISTS ${CMAKE_SOURCE_DIR}/tests/${path})
      ferry_test_rooms(more ${CMAKE_SOURCE_DIR}/tests/${path})
      list(APPEND rooms ${more})
      if(path STREQUAL "sim/comm_sim.h")
        list(APPEND rooms ferry_sim)
      endif()
    else()
      string(REGEX REPLACE "/.*" "" room "${path}")
      list(APPEND rooms ferry_${room})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  set(${out} ${rooms} PARENT_SCOPE)
endfunction()

function(ferry_label test label source)
  file(STRINGS ${source} slow LIMIT_COUNT 5 REGEX "ctest: slow")
  set(cost 0)
  if(slow)
    list(APPEND label slow)
    set(cost 100) # these begin first, so that none of them runs alone at the end
  endif()
  # Only what hangs reaches it: under the thread sanitizer test_resume takes five minutes on two
  # idle cores, and more than ten on busy ones.
  set_tests_properties(${test} PROPERTIES LABELS "${label}" TIMEOUT 1800
    SKIP_RETURN_CODE 77 COST ${cost})
endfunction()

# Where the tests' home, caches and temporary files are (CMakePresets.json); tools/test empties
# it first.
foreach(dir home tmp cache config pocl)
  file(MAKE_DIRECTORY ${CMAKE_SOURCE_DIR}/build/scratch/${dir})
endforeach()

file(GLOB test_sources CONFIGURE_DEPENDS tests/test_*.c)
if(NOT FERRY_HAS_OPENCL)
  list(FILTER test_sources EXCLUDE REGEX "test_opencl_handles")
endif()
foreach(source ${test_sources})
  get_filename_component(name ${source} NAME_WE)
  ferry_test_rooms(rooms ${source})
  add_executable(${name} ${source} tests/test.c)
  target_include_directories(${name} PRIVATE tests src)
  target_compile_definitions(${name} PRIVATE FERRY_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data")
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64") # gcc 12 fails on a reduction of one of them
    target_compile_options(${name} PRIVATE -fno-tree-vectorize)
  endif()
  if(rooms MATCHES "ferry_(device|model|decode|train)")
    list(APPEND rooms ferry_standin ferry_cpu_f64)
  endif()
  if("ferry_infer" IN_LIST rooms AND TARGET ferry_infer_amx_emulated)
    list(APPEND rooms ferry_infer_amx_emulated)
  endif()
  target_link_libraries(${name} PRIVATE ${rooms} PkgConfig::CMOCKA PkgConfig::JANSSON m)
  add_test(NAME ${name} COMMAND ${name})
  ferry_label(${name} unit ${source})
endforeach()

set_tests_properties(test_kernels PROPERTIES COST 200) # the longest of the sanitizer build
target_link_options(test_corrupt_rank PRIVATE -Wl,--wrap=model_backward)
target_link_options(test_exchange PRIVATE -Wl,--wrap=crc32c)
target_link_options(test_pool PRIVATE -Wl,--wrap=sched_yield)
target_link_options(test_mpi_module PRIVATE -Wl,--wrap=memfd_create)
foreach(name test_comm test_mpi_module)
  add_dependencies(${name} standin_mpi_broken)
  target_compile_definitions(${name} PRIVATE
    MPI_BROKEN="${CMAKE_BINARY_DIR}/standin/standin_mpi_broken.so")
endforeach()
target_link_options(test_affinity PRIVATE -Wl,--wrap=sched_getaffinity)
if(TARGET test_cuda)
  add_dependencies(test_cuda standin_cuda standin_cublasLt standin_nvidia-ml)
  set_target_properties(test_cuda PROPERTIES BUILD_RPATH ${CMAKE_BINARY_DIR}/standin)
  # the old kind of run path is followed by the sanitizer's dlopen too
  target_link_options(test_cuda PRIVATE -Wl,--disable-new-dtags)
  target_compile_definitions(test_cuda PRIVATE STANDIN="${CMAKE_BINARY_DIR}/standin")
endif()

# What of NVIDIA's libraries is installed; the driver may be its stub.
set(cuda_places ${cuda_root}/../lib64 ${cuda_root}/../lib /usr/local/cuda/lib64)
find_library(FERRY_LIB_CUDA cuda HINTS ${cuda_places} PATH_SUFFIXES stubs)
find_library(FERRY_LIB_BLAS NAMES cublasLt HINTS ${cuda_places})
find_library(FERRY_LIB_NCCL NAMES nccl HINTS ${cuda_places})
find_library(FERRY_LIB_NVML NAMES nvidia-ml libnvidia-ml.so.1 HINTS ${cuda_places}
  PATH_SUFFIXES stubs)
if(TARGET test_symbols)
  add_dependencies(test_symbols standin_cuda standin_cublasLt standin_nccl standin_nvidia-ml)
  target_compile_definitions(test_symbols PRIVATE STANDIN="${CMAKE_BINARY_DIR}/standin")
  foreach(lib CUDA BLAS NCCL NVML)
    set(path "")
    if(FERRY_LIB_${lib})
      set(path ${FERRY_LIB_${lib}})
    endif()
    target_compile_definitions(test_symbols PRIVATE LIB_${lib}="${path}")
  endforeach()
endif()

# tests/cli/X.sh runs the program itself: FERRY is its path, WORK an empty directory.
file(GLOB cli_tests CONFIGURE_DEPENDS tests/cli/*.sh)
foreach(script ${cli_tests})
  get_filename_component(name ${script} NAME_WE)
  add_test(NAME cli_${name}
    COMMAND ${CMAKE_SOURCE_DIR}/tests/cli/run ${script} $<TARGET_FILE:ferry>)
  ferry_label(cli_${name} cli ${script})
endforeach()

# tests/fuzz/fuzz_X.c: with FERRY_FUZZ a libFuzzer program; otherwise a driver replays
# the inputs of tests/fuzz/corpus/X, so that every run guards them.
file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
add_custom_target(fuzzers)
foreach(source ${fuzz_sources})
  get_filename_component(name ${source} NAME_WE)
  string(REPLACE "fuzz_" "" subject ${name})
  ferry_test_rooms(rooms ${source})
  if(FERRY_FUZZ)
    add_executable(${name} ${source})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(${name} ${source} tests/fuzz/replay.c)
    add_test(NAME ${name} COMMAND ${name} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${subject})
    ferry_label(${name} fuzz ${source})
  endif()
  add_dependencies(fuzzers ${name})
  target_include_directories(${name} PRIVATE src tests)
  target_link_libraries(${name} PRIVATE ${rooms} m)
endforeach()

# The exchange over each MPI library found, as one node and as several.
ferry_test_rooms(rooms tests/mpi/mpi_ranks.c)
add_executable(mpi_ranks tests/mpi/mpi_ranks.c)
target_link_libraries(mpi_ranks PRIVATE ${rooms} m)
foreach(library ${ferry_mpi_found})
  foreach(layout 2 1,1 2,2 2,1)
    string(REPLACE "," "_" suffix ${layout})
    add_test(NAME mpi_${library}_${suffix}
      COMMAND ${CMAKE_SOURCE_DIR}/tests/mpi/run ${library} ${layout} $<TARGET_FILE:mpi_ranks>)
    set_tests_properties(mpi_${library}_${suffix} PROPERTIES LABELS mpi SKIP_RETURN_CODE 77
      TIMEOUT 300 RUN_SERIAL ON)
  endforeach()
endforeach()

# tests/net/X.sh: the program on several hosts, which are namespaces; skipped with a message
# where these cannot be made. The programs beside them are the lab's.
foreach(program tapdelay worker)
  add_executable(net_${program} tests/net/${program}.c)
  target_link_libraries(net_${program} PRIVATE ferry_dist)
endforeach()
add_library(net_clock MODULE tests/net/clock.c)
set_target_properties(net_clock PROPERTIES PREFIX "")
file(GLOB net_tests CONFIGURE_DEPENDS tests/net/*.sh)
foreach(script ${net_tests})
  get_filename_component(name ${script} NAME_WE)
  add_test(NAME net_${name}
    COMMAND ${CMAKE_SOURCE_DIR}/tests/net/run ${script} $<TARGET_FILE:ferry>)
  ferry_label(net_${name} net ${script})
endforeach()

# bench/X.c: programs that measure, built only by name: bench_X.
file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.c)
foreach(source ${bench_sources})
  get_filename_component(name ${source} NAME_WE)
  ferry_test_rooms(rooms ${source})
  add_executable(bench_${name} EXCLUDE_FROM_ALL ${source})
  target_link_libraries(bench_${name} PRIVATE ${rooms} PkgConfig::JANSSON m)
endforeach()
