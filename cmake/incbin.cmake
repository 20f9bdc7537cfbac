# ferry_incbin(OUT NAME FILE): C text that puts the bytes of FILE into the program, as the array
# NAME and its size NAME_bytes, hidden: a library shows neither. The source that holds it must
# OBJECT_DEPENDS on FILE.
function(ferry_incbin out name file)
  set(${out} "extern const unsigned char ${name}[];
extern const size_t ${name}_bytes;
__asm__(\".section .rodata\\n.global ${name}\\n.hidden ${name}\\n.balign 64\\n\"
        \"${name}:\\n.incbin \\\"${file}\\\"\\n1:\\n.global ${name}_bytes\\n\"
        \".hidden ${name}_bytes\\n.balign 8\\n${name}_bytes: .quad 1b - ${name}\\n.previous\");
" PARENT_SCOPE)
endfunction()
