/* A target needs one source of its own; the rooms hold the rest. */
typedef int ferry_empty;
