/* The texts of tests/data/traces are what Open MPI 4.1.4 and MPICH 4.0.2 printed when a
 * rank of three was killed, crashed or failed. */
#include "launch/fold.h"

#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "test.h"

static struct str passed, kept;
static bool is_disk_full;

static void on_pass(void *ctx, const char *text, size_t n)
{
    (void)ctx;
    str_add(&passed, text, n);
}

static bool on_keep(void *ctx, const char *text, size_t n)
{
    (void)ctx;
    if (!is_disk_full)
        str_add(&kept, text, n);
    return !is_disk_full;
}

/* In pieces of n bytes. */
static struct fold fold_of(const char *text, size_t n_piece)
{
    struct fold f = {.sink = {on_pass, on_keep, NULL}};

    str_reset(&passed);
    str_reset(&kept);
    for (size_t n = strlen(text), at = 0; at < n; at += n_piece)
        fold_feed(&f, text + at, n - at < n_piece ? n - at : n_piece);
    fold_idle(&f);
    return f;
}

static const char *trace(const char *name)
{
    static char text[1 << 14];
    struct file_map m;
    struct err err;
    char path[64];

    snprintf(path, sizeof path, "traces/%s", name);
    CHECK_OK(file_map_open(&m, test_data(path), &err), &err);
    CHECK(m.n_bytes < sizeof text);
    memcpy(text, m.data, m.n_bytes);
    text[m.n_bytes] = '\0';
    file_map_close(&m);
    return text;
}

static void check_trace(const char *name, const char *telling)
{
    static const size_t pieces[] = {1, 7, 1000, 1 << 20};
    static const char before[] = "step 7/9  loss 1.5\nferry launch: rank 1 is late\n\n";
    static const char behind[] = "step 8/9  loss 1.4\n\nferry train: rank 1 is gone";
    struct str text = str_new(0);
    const char *t = trace(name);

    str_printf(&text, "%s%s%s", before, t, behind);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        const struct fold f = fold_of(str_text(&text), pieces[i]);
        CHECK_STR(str_text(&kept), t);
        CHECK(str_begins(str_text(&passed), before) &&
              str_ends(str_text(&passed), behind));
        CHECK(passed.len == strlen(before) + strlen(behind));
        CHECK(strstr(f.telling, telling));
    }
    str_release(&text);
}

TEST(what_mpirun_says_of_a_lost_rank_is_kept_and_the_rest_passed)
{
    check_trace("openmpi-killed", "process rank 1 with PID 0 on node node1 exited on "
                                  "signal 9 (Killed).");
    check_trace("openmpi-crashed", "exited on signal 11 (Segmentation fault).");
    check_trace("openmpi-failed", "Exit code:    7");
    check_trace("mpich-killed", "EXIT STRING: Killed (signal 9)");
}

static void check_passed(const char *text)
{
    const struct fold f = fold_of(text, 3);

    CHECK_STR(str_text(&passed), text);
    CHECK(f.n_kept == 0 && kept.len == 0);
}

#define DASHES \
    "--------------------------------------------------------------------------\n"

TEST(a_programs_own_boxes_and_brackets_are_passed)
{
    check_passed(DASHES "results of today\n" DASHES DASHES "\n\n" DASHES);
    check_passed("===================================================================="
                 "===============\n=   totals\n");
    check_passed("[12:30] hello\n[node1:99] [ 0] first\n[a:1] Signal: strong\n[x]\n[[\n");
    check_passed("This typically refers to a problem with your application.\n");
    check_passed(
        "mpirun noticed that process rank 1 was mentioned\nno newline at the end");
    check_passed("\n\n\n");
    check_passed(DASHES);
}

TEST(what_mpirun_says_of_a_failed_start_is_passed)
{
    check_passed(DASHES "There are not enough slots available in the system to satisfy "
                        "the 5\nslots that were requested by the application:\n" DASHES);
    check_passed(DASHES "An ORTE daemon has unexpectedly failed after launch and before\n"
                        "communicating back to mpirun.\n" DASHES);
}

TEST(single_lines_of_the_libraries_are_kept)
{
    static const char text[] =
        "[node1:10] PMIX ERROR: UNREACHABLE in file ../server.c at line 2198\n"
        "[node1:10] [[2479,0],0] ORTE_ERROR_LOG: Not found in file x.c at line 5\n"
        "[node1:10] 2 more processes have sent help message help-mpi-api.txt / "
        "mpi-abort\n"
        "[node1:10] Set MCA parameter \"orte_base_help_aggregate\" to 0 to see all\n"
        "[node1][[2479,1],0][btl_tcp_frag.c:241:mca_btl_tcp_frag_recv] readv failed: "
        "Connection reset by peer (104)\n"
        "[proxy:0:0@node1] HYD_pmcd_pmip_control_cmd_cb (pmip_cb.c:480): assert failed\n";
    const struct fold f = fold_of(text, 11);

    CHECK_STR(str_text(&kept), text);
    CHECK(f.n_kept == 6 && passed.len == 0);
}

TEST(of_several_lines_the_one_that_says_most_is_told)
{
    CHECK(strstr(fold_of("[proxy:0:0@n1] launch_procs: failed\n", 9).telling,
                 "launch_procs: failed"));
    CHECK(strstr(fold_of("[proxy:0:0@n1] launch_procs: failed\n"
                         "[proxy:0:0@n1] create_process: execvp error on file x\n"
                         "[mpiexec@n1] control_cb: assert failed\n",
                         9)
                     .telling,
                 "execvp error on file x"));
}

TEST(without_a_log_everything_is_passed)
{
    const char *t = trace("openmpi-killed");

    is_disk_full = true;
    fold_of(t, 5);
    is_disk_full = false;
    CHECK_STR(str_text(&passed), t);
}

TEST(a_trace_that_breaks_off_swallows_nothing_more)
{
    struct fold f = {.sink = {on_pass, on_keep, NULL}};
    static const char begin[] = DASHES "mpirun noticed that process rank 1 with PID 0\n";

    str_reset(&passed);
    fold_feed(&f, begin, strlen(begin));
    fold_idle(&f);
    fold_feed(&f, "step 9\n", 7);
    CHECK_STR(str_text(&passed), "step 9\n");
}

TEST(lines_longer_than_any_buffer_are_passed_whole)
{
    static char text[3 * FOLD_LINE + 100];

    memset(text, '-', sizeof text - 2);
    text[sizeof text - 2] = '\n';
    check_passed(text);
}
