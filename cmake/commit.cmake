# Writes OUT, which says which commit of ROOT this is, unless it says so already. "unknown"
# where ROOT is no clone of its own: a tarball, perhaps inside another repository; then COMMIT
# says it, if it is set.
set(ENV{GIT_OPTIONAL_LOCKS} 0)
set(commit "unknown")
execute_process(COMMAND git -C ${ROOT} rev-parse --show-prefix HEAD
  OUTPUT_VARIABLE said ERROR_QUIET RESULT_VARIABLE failed)
if(NOT failed AND said MATCHES "^\n([0-9a-f]+)\n$")
  string(SUBSTRING ${CMAKE_MATCH_1} 0 12 commit)
  execute_process(COMMAND git -C ${ROOT} status --porcelain --untracked-files=no
    OUTPUT_VARIABLE changed ERROR_QUIET)
  if(changed)
    string(APPEND commit ", with changes")
  endif()
elseif(COMMIT)
  set(commit "${COMMIT}")
endif()

set(text "/* Made by cmake/commit.cmake. */\nextern const char commit_text[];\nconst char commit_text[] = \"${commit}\";\n")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${OUT} "${text}")
endif()
