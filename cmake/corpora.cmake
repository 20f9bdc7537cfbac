# configs/corpora/*.corpus as text inside the program, so that `ferry fetch` needs no source
# tree. Run with -DROOT=... -DOUT=...
include(${CMAKE_CURRENT_LIST_DIR}/c_text.cmake)
set(body "")
file(GLOB files ${ROOT}/configs/corpora/*.corpus)
foreach(path ${files})
  get_filename_component(name ${path} NAME_WE)
  c_text(text ${path})
  string(APPEND body "    {\"${name}\",\n     \"${text}\"},\n")
endforeach()
file(WRITE ${OUT} "#include \"fetch/catalog.h\"\n\nconst struct catalog_text catalog_texts[] = {\n${body}    {\"\", \"\"},\n};\n")
