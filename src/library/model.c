#include "library/model.h"

#include <stdio.h>

int model_tell(const struct err *err, struct ferry_error *error)
{
    if (error) {
        error->status = (int)err->code;
        snprintf(error->text, sizeof error->text, "%s", err->msg);
    }
    return (int)err->code;
}
