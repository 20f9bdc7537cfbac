#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "http/http.h"

static bool is_address(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    char inner[64];
    const size_t n = strlen(host);

    if (inet_pton(AF_INET, host, &v4) == 1)
        return true;
    if (n < 3 || n - 2 >= sizeof inner || host[0] != '[' || host[n - 1] != ']')
        return false;
    memcpy(inner, host + 1, n - 2);
    inner[n - 2] = '\0';
    return inet_pton(AF_INET6, inner, &v6) == 1;
}

bool http_host_is_own(const char *host, const char *own_name)
{
    char name[256];
    size_t n = strlen(host);
    const char *colon = strrchr(host, ':');

    if (colon && strspn(colon + 1, "0123456789") == strlen(colon + 1))
        n = (size_t)(colon - host);
    if (n == 0 || n >= sizeof name)
        return false;
    memcpy(name, host, n);
    name[n] = '\0';
    return strcasecmp(name, "localhost") == 0 || is_address(name) ||
           (own_name && own_name[0] && strcasecmp(name, own_name) == 0);
}

const char *http_reason(unsigned code)
{
    static const struct {
        unsigned status;
        const char *reason;
    } reasons[] = {{200, "OK"},
                   {204, "No Content"},
                   {400, "Bad Request"},
                   {401, "Unauthorized"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {413, "Content Too Large"},
                   {415, "Unsupported Media Type"},
                   {429, "Too Many Requests"},
                   {503, "Service Unavailable"},
                   {505, "HTTP Version Not Supported"}};

    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == code)
            return reasons[i].reason;
    return "Internal Server Error";
}
