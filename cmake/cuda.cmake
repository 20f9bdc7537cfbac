# The CUDA device is part of every build: its libraries are opened at run time. Where nvcc
# is found, the kernels are compiled into fatbins that the program carries; where NVIDIA's
# headers are, our prototypes of their functions are compared with them.
option(FERRY_CUDA "compile the GPU kernels with nvcc, where it is found" ON)
set(FERRY_CUDA_ARCHS "75;80;90" CACHE STRING "architectures to compile for; the last also as PTX")
file(GLOB cuda_sources CONFIGURE_DEPENDS src/device/cuda/*.c)
list(FILTER cuda_sources EXCLUDE REGEX "prototypes")
target_sources(ferry_device PRIVATE ${cuda_sources} ${CMAKE_BINARY_DIR}/cuda_images.c)
target_link_libraries(ferry_device PRIVATE ${CMAKE_DL_LIBS})

find_program(FERRY_NVCC nvcc HINTS /usr/local/cuda/bin ENV CUDA_HOME PATH_SUFFIXES bin)
set(cuda_images "/* Made by cmake/cuda.cmake. */\n#include <stddef.h>\n")
list(GET FERRY_CUDA_ARCHS -1 newest)
foreach(arch ${FERRY_CUDA_ARCHS})
  list(APPEND cuda_codes -gencode arch=compute_${arch},code=sm_${arch})
endforeach()
list(APPEND cuda_codes -gencode arch=compute_${newest},code=compute_${newest})
foreach(kind "fp32 0" "fp16 1" "bf16 2")
  string(REPLACE " " ";" kind ${kind})
  list(GET kind 0 name)
  list(GET kind 1 storage)
  string(APPEND cuda_images "extern const unsigned char cuda_image_${name}[];\n"
    "extern const size_t cuda_image_${name}_bytes;\n")
  if(FERRY_CUDA AND FERRY_NVCC)
    set(fatbin ${CMAKE_BINARY_DIR}/${name}.fatbin)
    add_custom_command(OUTPUT ${fatbin}
      COMMAND ${FERRY_NVCC} -fatbin ${cuda_codes} -Werror all-warnings -O3 -DSTORAGE=${storage}
        -I ${CMAKE_SOURCE_DIR}/src -x cu ${CMAKE_SOURCE_DIR}/src/device/gpu/program.h -o ${fatbin}
      DEPENDS ${gpu_headers} VERBATIM)
    list(APPEND fatbins ${fatbin})
    string(APPEND cuda_images "__asm__(\".section .rodata\\n.global cuda_image_${name}\\n.balign 64\\n"
      "cuda_image_${name}:\\n.incbin \\\"${fatbin}\\\"\\n1:\\n.global cuda_image_${name}_bytes\\n"
      ".balign 8\\ncuda_image_${name}_bytes: .quad 1b - cuda_image_${name}\\n.previous\");\n")
  else()
    string(APPEND cuda_images "const unsigned char cuda_image_${name}[1];\n"
      "const size_t cuda_image_${name}_bytes = 0;\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/cuda_images.c CONTENT "${cuda_images}" @ONLY)
set_source_files_properties(${CMAKE_BINARY_DIR}/cuda_images.c PROPERTIES OBJECT_DEPENDS "${fatbins}")

get_filename_component(cuda_root "${FERRY_NVCC}" REALPATH)
get_filename_component(cuda_root "${cuda_root}" DIRECTORY)
find_path(FERRY_CUDA_HEADERS cublasLt.h HINTS ${cuda_root}/../include /usr/local/cuda/include)
if(FERRY_CUDA_HEADERS)
  add_library(ferry_cuda_prototypes OBJECT src/device/cuda/prototypes.c)
  target_include_directories(ferry_cuda_prototypes PRIVATE src)
  target_include_directories(ferry_cuda_prototypes SYSTEM PRIVATE ${FERRY_CUDA_HEADERS})
endif()
