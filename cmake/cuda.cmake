# The CUDA device is part of every build: its libraries are opened at run time. Where nvcc
# is found, the kernels are compiled into fatbins that the program carries; where NVRTC 12
# is (`make nvrtc`), also for the cards that nvcc 13 left behind; where NVIDIA's headers are,
# our prototypes of their functions are compared with them.
option(FERRY_CUDA "compile the GPU kernels with nvcc, where it is found" ON)
set(FERRY_CUDA_ARCHS "75;80;90" CACHE STRING "architectures to compile for; the last also as PTX")
set(FERRY_NVRTC_ARCHS "60;70" CACHE STRING "architectures to compile for by NVRTC 12")
file(GLOB cuda_sources CONFIGURE_DEPENDS src/device/cuda/*.c)
list(FILTER cuda_sources EXCLUDE REGEX "prototypes")
target_sources(ferry_device PRIVATE ${cuda_sources} ${CMAKE_BINARY_DIR}/cuda_images.c)
target_link_libraries(ferry_device PRIVATE ${CMAKE_DL_LIBS})

find_program(FERRY_NVCC nvcc HINTS /usr/local/cuda/bin ENV CUDA_HOME PATH_SUFFIXES bin)
get_filename_component(nvcc_dir "${FERRY_NVCC}" DIRECTORY)
find_program(FERRY_FATBINARY fatbinary HINTS ${nvcc_dir})
file(GLOB nvrtc_dirs ${CMAKE_SOURCE_DIR}/build/venv/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib)
find_file(FERRY_NVRTC libnvrtc.so.12 HINTS ${nvrtc_dirs} /usr/local/cuda-12/lib64)

set(cuda_images "/* Made by cmake/cuda.cmake. */\n#include <stddef.h>\n")
list(GET FERRY_CUDA_ARCHS -1 newest)
foreach(kind "fp32 0" "fp16 1" "bf16 2")
  string(REPLACE " " ";" kind ${kind})
  list(GET kind 0 name)
  list(GET kind 1 storage)
  if(FERRY_CUDA AND FERRY_NVCC AND FERRY_FATBINARY)
    set(of_cuda ${CMAKE_BINARY_DIR}/cuda)
    file(MAKE_DIRECTORY ${of_cuda})
    set(compile ${FERRY_NVCC} -Werror all-warnings -O3 -DSTORAGE=${storage}
      -I ${CMAKE_SOURCE_DIR}/src -x cu ${CMAKE_SOURCE_DIR}/src/device/gpu/program.h)
    set(parts)
    set(images)
    foreach(arch ${FERRY_CUDA_ARCHS})
      set(cubin ${of_cuda}/${name}.sm_${arch}.cubin)
      add_custom_command(OUTPUT ${cubin} COMMAND ${compile} -cubin -arch=sm_${arch} -o ${cubin}
        DEPENDS ${gpu_headers} VERBATIM)
      list(APPEND parts ${cubin})
      list(APPEND images --image3=kind=elf,sm=${arch},file=${cubin})
    endforeach()
    set(ptx ${of_cuda}/${name}.compute_${newest}.ptx)
    add_custom_command(OUTPUT ${ptx} COMMAND ${compile} -ptx -arch=compute_${newest} -o ${ptx}
      DEPENDS ${gpu_headers} VERBATIM)
    list(APPEND parts ${ptx})
    list(APPEND images --image3=kind=ptx,sm=${newest},file=${ptx})
    if(FERRY_NVRTC)
      foreach(arch ${FERRY_NVRTC_ARCHS})
        set(cubin ${of_cuda}/${name}.sm_${arch}.cubin)
        add_custom_command(OUTPUT ${cubin}
          COMMAND ${CMAKE_SOURCE_DIR}/tools/gpu_nvrtc.py --library ${FERRY_NVRTC} --out ${of_cuda}
            --storage ${name} ${arch}
          DEPENDS ${gpu_headers} ${CMAKE_SOURCE_DIR}/tools/gpu_nvrtc.py VERBATIM)
        list(APPEND parts ${cubin})
        list(APPEND images --image3=kind=elf,sm=${arch},file=${cubin})
      endforeach()
    endif()
    set(fatbin ${CMAKE_BINARY_DIR}/${name}.fatbin)
    add_custom_command(OUTPUT ${fatbin} COMMAND ${FERRY_FATBINARY} --64 ${images} --create=${fatbin}
      DEPENDS ${parts} VERBATIM)
    list(APPEND fatbins ${fatbin})
    ferry_incbin(carried cuda_image_${name} ${fatbin})
    string(APPEND cuda_images "${carried}")
  else()
    string(APPEND cuda_images "extern const unsigned char cuda_image_${name}[];\n"
      "extern const size_t cuda_image_${name}_bytes;\n"
      "const unsigned char cuda_image_${name}[1];\n"
      "const size_t cuda_image_${name}_bytes = 0;\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/cuda_images.c CONTENT "${cuda_images}" @ONLY)
set_source_files_properties(${CMAKE_BINARY_DIR}/cuda_images.c PROPERTIES OBJECT_DEPENDS "${fatbins}")

get_filename_component(cuda_root "${FERRY_NVCC}" REALPATH)
get_filename_component(cuda_root "${cuda_root}" DIRECTORY)
find_path(FERRY_CUDA_HEADERS cublasLt.h HINTS ${cuda_root}/../include /usr/local/cuda/include)
if(FERRY_CUDA_HEADERS AND BUILD_TESTING)
  add_library(ferry_cuda_prototypes OBJECT tests/standin/cuda_prototypes.c)
  target_include_directories(ferry_cuda_prototypes PRIVATE src)
  target_include_directories(ferry_cuda_prototypes SYSTEM PRIVATE ${FERRY_CUDA_HEADERS})
endif()
find_path(FERRY_NCCL_HEADERS nccl.h HINTS ${cuda_root}/../include /usr/local/cuda/include)
if(FERRY_NCCL_HEADERS AND FERRY_CUDA_HEADERS AND BUILD_TESTING)
  add_library(ferry_nccl_prototypes OBJECT tests/standin/nccl_prototypes.c)
  target_include_directories(ferry_nccl_prototypes PRIVATE src)
  target_include_directories(ferry_nccl_prototypes SYSTEM PRIVATE ${FERRY_NCCL_HEADERS}
    ${FERRY_CUDA_HEADERS})
endif()
