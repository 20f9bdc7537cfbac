# Each room of src/ is a static library that links only the rooms below it, so that the
# layer rule of docs/ARCHITECTURE.md also holds at link time.
function(ferry_room name)
  cmake_parse_arguments(ROOM "" "" "FOLDERS;BELOW;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS src/${name}/*.c)
  foreach(folder ${ROOM_FOLDERS})
    file(GLOB more CONFIGURE_DEPENDS src/${name}/${folder}/*.c src/${name}/${folder}/*.cc)
    list(APPEND sources ${more})
  endforeach()
  add_library(ferry_${name} STATIC ${sources} cmake/empty.c)
  target_include_directories(ferry_${name} PUBLIC src)
  set_target_properties(ferry_${name} PROPERTIES C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden)
  list(TRANSFORM ROOM_BELOW PREPEND ferry_)
  target_link_libraries(ferry_${name} PUBLIC ${ROOM_BELOW} PRIVATE ${ROOM_LIBS})
endfunction()

# The same kernel files once for each instruction set and width: table cpu_<variant>_kernels.
# Under a sanitizer their tiles stay loops and are not copied into every caller: the checks
# are the same, and gemm.c compiles in one second instead of seventy.
function(ferry_kernels variant real)
  set(optimize -O3)
  if(FERRY_SANITIZE)
    set(optimize -O2 -DTILE_CHECKED)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS src/device/cpu/*.c)
  add_library(ferry_cpu_${variant} STATIC ${sources})
  target_include_directories(ferry_cpu_${variant} PUBLIC src)
  set_target_properties(ferry_cpu_${variant} PROPERTIES C_VISIBILITY_PRESET hidden)
  target_compile_definitions(ferry_cpu_${variant} PRIVATE CPU_VARIANT=${variant} REAL=${real})
  target_compile_options(ferry_cpu_${variant} PRIVATE ${optimize} -fno-math-errno -fno-trapping-math
    -fno-signed-zeros -fassociative-math -ffp-contract=fast ${ARGN})
  target_link_libraries(ferry_cpu_${variant} PUBLIC ferry_base PRIVATE m)
endfunction()

ferry_room(base LIBS PkgConfig::YAML PkgConfig::UTF8PROC Threads::Threads m)
ferry_room(recipe BELOW base LIBS m)
ferry_room(score BELOW base LIBS PkgConfig::JANSSON PkgConfig::UTF8PROC m)
ferry_room(http BELOW base LIBS Threads::Threads ${CMAKE_DL_LIBS})
target_include_directories(ferry_http PRIVATE ${MICROHTTPD_INCLUDE_DIRS}) # opened at run time

file(GLOB protos CONFIGURE_DEPENDS src/format/tf/*.proto src/text/subword/*.proto)
foreach(proto ${protos})
  get_filename_component(stem ${proto} NAME_WE)
  get_filename_component(folder ${proto} DIRECTORY)
  add_custom_command(
    OUTPUT ${CMAKE_BINARY_DIR}/proto/${stem}.pb-c.c ${CMAKE_BINARY_DIR}/proto/${stem}.pb-c.h
    COMMAND protoc-c --proto_path=${folder} --c_out=${CMAKE_BINARY_DIR}/proto ${proto}
    DEPENDS ${proto} VERBATIM)
  list(APPEND proto_sources ${CMAKE_BINARY_DIR}/proto/${stem}.pb-c.c)
endforeach()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/proto)
add_library(ferry_proto STATIC ${proto_sources} cmake/empty.c)
target_include_directories(ferry_proto SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/proto)
target_compile_options(ferry_proto PRIVATE -w)
set_target_properties(ferry_proto PROPERTIES C_VISIBILITY_PRESET hidden)
target_link_libraries(ferry_proto PUBLIC PkgConfig::PROTOBUF_C)
ferry_room(format FOLDERS tf foreign BELOW base LIBS ferry_proto PkgConfig::ZLIB PkgConfig::LZMA PkgConfig::ZSTD PkgConfig::JANSSON PkgConfig::YAML)

ferry_room(text FOLDERS subword BELOW recipe format base LIBS ferry_proto PkgConfig::SENTENCEPIECE PkgConfig::UTF8PROC)

ferry_kernels(plain float)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  ferry_kernels(v3 float -march=x86-64-v3)
  ferry_kernels(v4 float -march=x86-64-v4 -mprefer-vector-width=512)
  ferry_kernels(amx float -march=x86-64-v4 -mprefer-vector-width=512 -mavx512bf16 -mamx-tile -mamx-bf16)
  set(vector_kernels ferry_cpu_v3 ferry_cpu_v4 ferry_cpu_amx)
endif()
ferry_room(device BELOW base LIBS ferry_cpu_plain ${vector_kernels} m)
if(vector_kernels)
  target_compile_definitions(ferry_device PRIVATE FERRY_CPU_X86)
endif()


# GPUs: what they share, and OpenCL where its headers are; the loader is opened at start.
file(GLOB gpu_sources CONFIGURE_DEPENDS src/device/gpu/*.c)
file(GLOB gpu_headers CONFIGURE_DEPENDS src/device/gpu/*.h)
target_sources(ferry_device PRIVATE ${gpu_sources})
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/gpu_program.c
  COMMAND ${CMAKE_SOURCE_DIR}/tools/embed_program.py ${CMAKE_SOURCE_DIR}/src
    device/gpu/program.h ${CMAKE_BINARY_DIR}/gpu_program.c
  DEPENDS ${gpu_headers} tools/embed_program.py VERBATIM)
check_include_file(CL/cl.h FERRY_HAS_OPENCL)
if(FERRY_HAS_OPENCL)
  file(GLOB opencl_sources CONFIGURE_DEPENDS src/device/opencl/*.c)
  target_sources(ferry_device PRIVATE ${opencl_sources} ${CMAKE_BINARY_DIR}/gpu_program.c)
  target_compile_definitions(ferry_device PRIVATE FERRY_OPENCL)
  target_link_libraries(ferry_device PRIVATE ${CMAKE_DL_LIBS})
endif()

include(cmake/incbin.cmake)
include(cmake/cuda.cmake)

ferry_room(markup BELOW text base)
ferry_room(corpus BELOW recipe format base LIBS PkgConfig::JANSSON m)
ferry_room(foreign BELOW text format device recipe base LIBS PkgConfig::JANSSON)
ferry_room(align BELOW corpus format recipe base LIBS m)
ferry_room(prepare FOLDERS source clean BELOW corpus text format recipe base LIBS PkgConfig::JANSSON m)

# The words of the sample corpus, constant tables made of configs/sample.
file(GLOB lexicon CONFIGURE_DEPENDS configs/sample/*.tsv)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/lexicon_tables.c
  COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} -DOUT=${CMAKE_BINARY_DIR}/lexicon_tables.c
    -P ${CMAKE_SOURCE_DIR}/cmake/lexicon.cmake
  DEPENDS ${lexicon} cmake/lexicon.cmake VERBATIM)
ferry_room(sample BELOW text base LIBS m)
target_sources(ferry_sample PRIVATE ${CMAKE_BINARY_DIR}/lexicon_tables.c)

ferry_room(model BELOW device recipe LIBS m)

# The loops of inference, once for each instruction set. Without contraction all of them give
# the same bits; products of floats alone, and their peak, may fuse.
set_source_files_properties(src/infer/kernel/multiply_float.c src/infer/kernel/peak.c PROPERTIES
  COMPILE_OPTIONS -ffp-contract=fast)
function(ferry_infer_kernels variant)
  set(optimize -O3)
  if(FERRY_SANITIZE)
    set(optimize -O2 -DLANES_CHECKED)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS src/infer/kernel/*.c)
  add_library(ferry_infer_${variant} STATIC ${sources})
  target_include_directories(ferry_infer_${variant} PUBLIC src)
  set_target_properties(ferry_infer_${variant} PROPERTIES C_VISIBILITY_PRESET hidden)
  target_compile_definitions(ferry_infer_${variant} PRIVATE INFER_VARIANT=${variant})
  target_compile_options(ferry_infer_${variant} PRIVATE ${optimize} -ffp-contract=off -fno-math-errno
    -fno-trapping-math -Wno-psabi ${ARGN})
endfunction()
ferry_infer_kernels(plain)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  ferry_infer_kernels(avx2 -march=x86-64-v3)
  ferry_infer_kernels(avx512 -march=x86-64-v4 -mprefer-vector-width=512)
  ferry_infer_kernels(vnni -march=x86-64-v4 -mprefer-vector-width=512 -mavx512vnni)
  ferry_infer_kernels(amx -march=x86-64-v4 -mprefer-vector-width=512 -mavx512vnni -mamx-tile -mamx-int8)
  set(infer_kernels ferry_infer_avx2 ferry_infer_avx512 ferry_infer_vnni ferry_infer_amx)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  ferry_infer_kernels(dot -march=armv8.2-a+dotprod)
  set(infer_kernels ferry_infer_dot)
endif()
ferry_room(infer BELOW device recipe LIBS ferry_infer_plain ${infer_kernels} m)

# The loops of the gradient exchange, also once for each instruction set. Without contraction
# all of them give the same bits, so that unlike hosts stay equal.
function(ferry_codec variant)
  add_library(ferry_codec_${variant} STATIC src/dist/exchange/codec/codec_loops.c)
  target_include_directories(ferry_codec_${variant} PUBLIC src)
  target_compile_definitions(ferry_codec_${variant} PRIVATE CODEC_VARIANT=${variant})
  target_compile_options(ferry_codec_${variant} PRIVATE -O3 -ffp-contract=off
    -fno-trapping-math ${ARGN}) # or selections of floats stay branches
  target_link_libraries(ferry_codec_${variant} PUBLIC ferry_recipe)
endfunction()
ferry_codec(plain)
if(vector_kernels)
  ferry_codec(v3 -march=x86-64-v3)
  set(vector_codec ferry_codec_v3)
endif()
ferry_room(dist FOLDERS comm exchange watch BELOW recipe format device
  LIBS ferry_codec_plain ${vector_codec} Threads::Threads ${CMAKE_DL_LIBS} m)
if(vector_codec)
  target_compile_definitions(ferry_dist PRIVATE FERRY_CODEC_V3)
endif()
ferry_room(page BELOW base LIBS m)

file(GLOB descriptions CONFIGURE_DEPENDS configs/devices/*.yaml configs/links/*.yaml)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/descriptions.c
  COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} -DOUT=${CMAKE_BINARY_DIR}/descriptions.c
    -P ${CMAKE_SOURCE_DIR}/cmake/descriptions.cmake
  DEPENDS ${descriptions} cmake/descriptions.cmake cmake/c_text.cmake VERBATIM)
ferry_room(plan BELOW page recipe base LIBS PkgConfig::JANSSON m)
target_sources(ferry_plan PRIVATE ${CMAKE_BINARY_DIR}/descriptions.c)
ferry_room(report FOLDERS log read judge show BELOW plan text page format score http recipe LIBS PkgConfig::JANSSON m)

# Downloads, where libcurl is; the catalogues of configs/corpora as text inside.
file(GLOB corpora CONFIGURE_DEPENDS configs/corpora/*.corpus)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/corpora.c
  COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} -DOUT=${CMAKE_BINARY_DIR}/corpora.c
    -P ${CMAKE_SOURCE_DIR}/cmake/corpora.cmake
  DEPENDS ${corpora} cmake/corpora.cmake cmake/c_text.cmake VERBATIM)
ferry_room(fetch BELOW format text base LIBS PkgConfig::JANSSON)
target_sources(ferry_fetch PRIVATE ${CMAKE_BINARY_DIR}/corpora.c)
if(FERRY_CURL)
  pkg_check_modules(CURL IMPORTED_TARGET libcurl>=7.85)
endif()
if(CURL_FOUND)
  target_include_directories(ferry_fetch PRIVATE ${CURL_INCLUDE_DIRS}) # opened at run time
  target_link_libraries(ferry_fetch PRIVATE ${CMAKE_DL_LIBS})
  target_compile_definitions(ferry_fetch PRIVATE FERRY_CURL)
endif()

ferry_room(decode FOLDERS steer beam lines forced pairs BELOW foreign align infer model text format recipe LIBS m)
ferry_room(train FOLDERS update run log save eval BELOW foreign decode corpus model dist format score text recipe
  LIBS PkgConfig::JANSSON ${CMAKE_DL_LIBS} m)
ferry_room(pack BELOW foreign align decode corpus score LIBS PkgConfig::JANSSON m)
ferry_room(library BELOW decode base LIBS Threads::Threads m)
target_include_directories(ferry_library PUBLIC include)
ferry_room(launch BELOW dist LIBS m)
ferry_room(adapt BELOW train pack prepare decode dist corpus score text LIBS PkgConfig::JANSSON m)
ferry_room(bench BELOW train decode infer corpus LIBS PkgConfig::JANSSON m)
ferry_room(inspect BELOW train decode foreign infer report corpus LIBS PkgConfig::JANSSON)

# The files of the server's page as text inside.
file(GLOB page_files CONFIGURE_DEPENDS src/serve/page/*)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/page_files.c
  COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} -DOUT=${CMAKE_BINARY_DIR}/page_files.c
    -P ${CMAKE_SOURCE_DIR}/cmake/page.cmake
  DEPENDS ${page_files} cmake/page.cmake cmake/c_text.cmake VERBATIM)
ferry_room(serve FOLDERS page BELOW decode markup http text format base LIBS PkgConfig::JANSSON Threads::Threads m)
target_sources(ferry_serve PRIVATE ${CMAKE_BINARY_DIR}/page_files.c)

ferry_room(cli BELOW adapt bench inspect serve train pack launch report plan decode prepare sample fetch
  LIBS PkgConfig::JANSSON)

add_executable(ferry cmake/empty.c)
target_link_libraries(ferry PRIVATE -Wl,--whole-archive ferry_cli -Wl,--no-whole-archive)
