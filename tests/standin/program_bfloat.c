#define STORAGE 2
#define PROGRAM program_bfloat
#include "standin/program_table.h"
