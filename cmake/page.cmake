# src/serve/page/* as text inside the program: what the server's page is made of.
# Run with -DROOT=... -DOUT=...
include(${CMAKE_CURRENT_LIST_DIR}/c_text.cmake)
set(body "")
foreach(row "/:index.html:text/html" "/style.css:style.css:text/css" "/app.js:app.js:text/javascript")
  string(REPLACE ":" ";" row ${row})
  list(GET row 0 path)
  list(GET row 1 file)
  list(GET row 2 type)
  c_text(text ${ROOT}/src/serve/page/${file})
  string(APPEND body "    {\"${path}\", \"${type}; charset=utf-8\",\n     \"${text}\"},\n")
endforeach()
file(WRITE ${OUT} "#include \"serve/page/page.h\"\n\nconst struct page_file page_files[] = {\n${body}    {0},\n};\n")
