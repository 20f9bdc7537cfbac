# configs/devices/*.yaml and configs/links/*.yaml as text inside the program, so that
# `ferry plan --device V100` needs no source tree. Run with -DROOT=... -DOUT=...
include(${CMAKE_CURRENT_LIST_DIR}/c_text.cmake)
set(body "")
foreach(kind device link)
  file(GLOB files ${ROOT}/configs/${kind}s/*.yaml)
  foreach(path ${files})
    get_filename_component(name ${path} NAME_WE)
    c_text(text ${path})
    string(APPEND body "    {\"${kind}\", \"${name}\",\n     \"${text}\"},\n")
  endforeach()
endforeach()
file(WRITE ${OUT} "#include \"plan/hardware.h\"\n\nconst struct hardware_text hardware_texts[] = {\n${body}    {\"\", \"\", \"\"},\n};\n")
