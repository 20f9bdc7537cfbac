#define STORAGE 0
#define PROGRAM program_float
#include "standin/program_table.h"

const size_t program_n = sizeof program_float / sizeof *program_float;
