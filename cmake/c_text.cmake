# c_text(OUT PATH): the text of a file as the lines of a C string, without the outer quotes.
function(c_text out path)
  file(READ ${path} text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n     \"" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()
