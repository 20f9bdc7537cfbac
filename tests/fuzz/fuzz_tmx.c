/* Any bytes as a .tmx file: every segment is handed out or the file is refused with a
 * sentence that names it. */
#include "prepare/source/source.h"
#include "source_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    source_fuzz(data, n, SOURCE_TMX);
    return 0;
}
