/*
 * replay - the driver of a fuzz target without libFuzzer: every file of the directory
 * argv[1] is one input. A crash or a sanitizer's report is the failure.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>

#include "base/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int main(int argc, char **argv)
{
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    size_t n_inputs = 0;

    if (!dir) {
        fprintf(stderr, "usage: %s DIRECTORY-OF-INPUTS\n", argv[0]);
        return 2;
    }
    for (struct dirent *e; (e = readdir(dir));) {
        char path[FILE_PATH_MAX];
        struct file_map input;
        struct err err;
        if (e->d_name[0] == '.' ||
            file_join(path, sizeof path, argv[1], e->d_name, &err) != OK)
            continue;
        if (file_map_open(&input, path, &err) != OK) {
            fprintf(stderr, "%s\n", err.msg);
            closedir(dir);
            return 1;
        }
        static const uint8_t nothing[1];
        LLVMFuzzerTestOneInput(input.data ? input.data : nothing, input.n_bytes);
        file_map_close(&input);
        n_inputs++;
    }
    closedir(dir);
    printf("%zu inputs\n", n_inputs);
    return n_inputs ? 0 : 1;
}
