#ifdef FERRY_CURL
#include "fetch/curl_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

static status find(void *so, const char *name, void *to, struct err *err)
{
    void *at = dlsym(so, name);

    if (!at)
        return err_set(err, ERR_USAGE, "libcurl.so.4 here has no %s: it is too old",
                       name);
    memcpy(to, &at, sizeof at); /* C has no conversion to a pointer to a function */
    return OK;
}

status curl_library_open(const struct curl_library **out, struct err *err)
{
    static struct curl_library lib;
    static bool is_open;

    *out = &lib;
    if (is_open)
        return OK;
    void *so = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!so)
        return err_set(err, ERR_USAGE,
                       "downloads need libcurl, which cannot be opened (%s); on Debian: "
                       "apt-get install libcurl4",
                       dlerror());
#define FIND(name) TRY(find(so, "curl_" #name, &lib.name, err));
    CURL_LIBRARY_LIST(FIND)
#undef FIND
    is_open = true;
    return OK;
}
#endif
