#define STORAGE 1
#define PROGRAM program_half
#include "standin/program_table.h"
