/* translate - the lines of standard input in another language: translate MODEL
 *
 *     cc translate.c -o translate $(pkg-config --cflags --libs ferry)
 */
#include <ferry.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct ferry *model;
    struct ferry_error error;
    struct ferry_result *result;
    char line[4096];
    int status = FERRY_OK;

    if (argc != 2)
        return fprintf(stderr, "usage: translate MODEL\n"), 2;
    if (ferry_open(&model, argv[1], NULL, &error) != FERRY_OK)
        return fprintf(stderr, "%s\n", error.text), error.status;
    while (status == FERRY_OK && fgets(line, sizeof line, stdin)) {
        status = ferry_translate(model, line, NULL, &result, &error);
        fputs(status == FERRY_OK ? ferry_result_text(result, 0, 0) : "", stdout);
        ferry_result_free(result);
    }
    if (status != FERRY_OK)
        fprintf(stderr, "%s\n", error.text);
    ferry_close(model);
    return status;
}
