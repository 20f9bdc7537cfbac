# The Python module, where python3 looks for modules below the prefix, which is known only now: for
# /usr and /usr/local what Python's module `site` says, elsewhere lib/pythonX.Y/site-packages, which
# is also where the Python of a user looks below ~/.local. FERRY_PYTHON_DIR says otherwise.
set(ask [[
import os, site, sys, sysconfig
prefix, is_last = sys.argv[1], sys.argv[2] == "last"
below = [os.path.relpath(p, prefix) for p in site.getsitepackages()]
found = [p for p in below if p.split(os.sep)[0] in ("lib", "lib64")]
if is_last:
    found.append(os.path.relpath(sysconfig.get_path("purelib", "posix_prefix", {"base": prefix}), prefix))
print(found[0] if found else "")
]])

set(dir "${FERRY_PYTHON_DIR}")
foreach(try "python3;any" "/usr/bin/python3;any" "python3;last")
  if(NOT dir)
    list(GET try 0 python)
    list(GET try 1 which)
    execute_process(COMMAND ${python} -I -c "${ask}" "${CMAKE_INSTALL_PREFIX}" ${which}
      OUTPUT_VARIABLE dir ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
endforeach()
if(NOT dir)
  set(dir lib/python3/dist-packages) # there is no Python here; Debian's looks there
endif()
file(INSTALL ${CMAKE_CURRENT_LIST_DIR}/../python/ferry/__init__.py
  ${CMAKE_CURRENT_LIST_DIR}/../python/ferry/py.typed
  DESTINATION "${CMAKE_INSTALL_PREFIX}/${dir}/ferry")
