#include "base/symbol.h"

#include <dlfcn.h>
#include <string.h>

/* ISO C has no conversion from an object pointer to a function pointer. */
bool symbol_load(void *so, const char *name, void *to)
{
    void *symbol = so ? dlsym(so, name) : NULL;

    memcpy(to, &symbol, sizeof symbol);
    return symbol;
}
