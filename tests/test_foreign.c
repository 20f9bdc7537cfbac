/* Made-up logs of OpenSeq2Seq with a known truth: what the report says of each. */
#include "test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <utime.h>

#include "base/clock.h"
#include "base/mem.h"
#include "format/tf/tb_event.h"
#include "judged.h"
#include "made_console.h"
#include "report/judge/network.h"

#define CHECK_HAS(text, part) CHECK((text) && strstr((text), (part)))

enum { CASES = 8, HEALTHY = 40 };

/* The log is judged as a file that was written long ago, or right now. */
static struct judgement *judge_at(struct made_console *m, double age)
{
    struct judgement *t;
    struct err err;
    const char *path = test_path("nohup.out");
    const time_t then = (time_t)(clock_wall() - age);

    CHECK_OK(file_write(path, m->log.data, m->log.len, &err), &err);
    CHECK(utime(path, &(struct utimbuf){then, then}) == 0);
    CHECK_OK(mem_alloc(&t, 1, sizeof *t, &err), &err);
    CHECK_OK(judgement_look(t, path, clock_wall(), NULL, &err), &err);
    str_release(&m->log);
    return t;
}

static struct judgement *judge(struct made_console *m)
{
    return judge_at(m, 1e7);
}

static double value(const struct judgement *t, size_t question, const char *key)
{
    const struct answer *a = &t->answers.of[question];

    for (size_t i = 0; i < a->n_values; i++)
        if (strcmp(a->value[i].key, key) == 0)
            return a->value[i].v;
    return NAN;
}

TEST(healthy_logs_raise_no_alarm)
{
    for (uint64_t seed = 1; seed <= HEALTHY; seed++) {
        struct made_console m = made_console(seed);
        m.max_steps = 20000 + 2000 * (int)(seed % 20);
        m.has_dates = seed % 3 != 0;
        m.has_nccl = seed % 4 != 0;
        m.has_config = seed % 5 != 0;
        m.has_samples = seed % 2 != 0;
        m.tag = seed % 7 == 0 ? "[1,0]<stdout>:" : NULL;
        if (seed % 8 == 0) {
            m.ranks = m.hosts = 1;
            m.has_nccl = false;
        }
        made_console_whole(&m);
        struct judgement *t = judge(&m);
        judged_findings(t, "", seed);
        judged_code(t, ANSWER_time, "finished", seed);
        judged_close(t);
    }
}

TEST(warnings_that_training_survived_are_no_alarm)
{
    static const char *const warnings[] = {
        "[node1][[12510,1],3][btl_tcp.c:559:mca_btl_tcp_recv_blocking] recv(49) failed: "
        "Connection reset by peer (104)",
        "2020-02-25 19:52:17.265471: E "
        "tensorflow/stream_executor/cuda/cuda_driver.cc:806] "
        "failed to allocate 15.47G (16608526336 bytes) from device: "
        "CUDA_ERROR_OUT_OF_MEMORY",
        "W tensorflow/core/common_runtime/bfc_allocator.cc:215] Allocator (GPU_0_bfc) "
        "ran "
        "out of memory trying to allocate 2.20GiB. The caller indicates that this is not "
        "a failure",
        "E0228 01:35:41.742631 Thread-59 _internal.py:88] code 400, message Bad request",
        "Killed by the editor is a phrase of the corpus, not of the system",
    };

    for (size_t i = 0; i < sizeof warnings / sizeof *warnings; i++) {
        struct made_console m = made_console(i + 1);
        made_console_begin(&m, 0);
        made_console_line(&m, "%s", warnings[i]);
        made_console_steps(&m, 0, 20000, true);
        made_console_line(&m, "%s", warnings[i]);
        made_console_steps(&m, 20100, m.max_steps - m.every, false);
        made_console_finish(&m);
        struct judgement *t = judge(&m);
        judged_findings(t, "", i);
        judged_close(t);
    }
}

TEST(a_log_that_begins_in_the_middle_is_timed_from_there)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_console m = made_console(seed);
        const int from = 52100 + 1000 * (int)seed, to = from + 2900;
        m.max_steps = 300000;
        m.has_config = seed % 2 == 0;
        made_console_steps(&m, from, to, false);
        const double wall = m.t;
        struct judgement *t = judge(&m);
        CHECK_NEAR(t->run.times.wall, wall, 0.06 * 30);
        CHECK(t->run.log.foreign.begins_at == from - 100);
        CHECK(t->run.log.foreign.steps_missing == 0);
        CHECK(t->run.steps_taken == to - from + 100);
        CHECK_NEAR(t->run.pace.mean, m.step_seconds, 0.01 * m.step_seconds);
        CHECK(t->run.pace.n_left_out <= 200);
        judged_code(t, ANSWER_time, "open", seed);
        judged_close(t);
    }
}

TEST(holes_are_holes)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_console m = made_console(seed);
        const int hole = 700 * (int)seed;
        m.has_dates = false;
        m.has_config = seed % 2 == 0;
        made_console_begin(&m, 0);
        made_console_steps(&m, 0, 20000, true);
        made_console_steps(&m, 20100 + hole, m.max_steps - m.every, false);
        made_console_finish(&m);
        const double wall = m.t;
        struct judgement *t = judge(&m);
        CHECK_NEAR(t->run.log.foreign.steps_missing, hole, 1e-9);
        CHECK(t->run.log.foreign.n_holes == 1);
        CHECK_NEAR(t->run.times.wall, wall, 1e-3 * wall);
        CHECK_NEAR(t->run.pace.mean, m.step_seconds, 0.01 * m.step_seconds);
        judged_findings(t, "", seed);
        judged_close(t);
    }
}

TEST(start_up_is_no_part_of_a_step)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_console m = made_console(seed);
        m.startup = seed % 2 ? 934 : 90;
        made_console_whole(&m);
        struct judgement *t = judge(&m);
        CHECK_NEAR(t->run.log.foreign.t_startup, m.startup, 0.05 * m.startup);
        CHECK_NEAR(t->run.pace.mean, m.step_seconds, 0.005 * m.step_seconds);
        CHECK_NEAR(t->run.pace.slowest, m.step_seconds, 0.05 * m.step_seconds);
        CHECK_NEAR(t->run.times.in_evals / (double)t->run.times.n_evals_timed,
                   m.eval_seconds, 0.2 * m.eval_seconds);
        judged_close(t);
    }
}

TEST(a_finished_run_has_no_steps_to_go)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_console m = made_console(seed);
        m.max_steps = 10000 * (int)seed;
        made_console_whole(&m);
        struct judgement *t = judge(&m);
        judged_code(t, ANSWER_time, "finished", seed);
        CHECK(t->run.step == m.max_steps);
        CHECK(!strstr(str_text(&t->answers.of[ANSWER_time].verdict), "remaining"));
        judged_close(t);
    }
}

TEST(a_run_that_its_evaluation_ended_is_told_so)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_console m = made_console(seed);
        m.max_steps = 300000;
        made_console_begin(&m, 0);
        made_console_steps(&m, 0, 4000, true);
        made_console_eval(&m, 4001);
        made_console_line(&m, "*** Finished training");
        made_console_line(&m, "*** Not enough steps for benchmarking");
        struct judgement *t = judge(&m);
        judged_findings(t, "early_end", seed);
        judged_close(t);
    }
}

static const struct crash {
    const char *lines, *quoted, *kind;
} crashes[] = {
    {"Traceback (most recent call last):\n"
     "  File \"run.py\", line 102, in <module>\n    main()\n"
     "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when "
     "allocating "
     "tensor with shape[7168,32768] and type float",
     "OOM when allocating tensor", "A card ran out of memory"},
    {"Traceback (most recent call last):\n  File \"run.py\", line 1, in <module>\n"
     "    import x\nKeyError: 'batch_size'",
     "KeyError: 'batch_size'", "Python error"},
    {"node1:234:310 [1] transport/net_socket.cu:200 NCCL WARN Call to recv failed : "
     "Connection reset by peer",
     "Call to recv failed", "NCCL"},
    {"--------------------------------------------------------------------------\n"
     "mpirun noticed that process rank 2 with PID 1234 on node node1 exited on signal 9 "
     "(Killed).",
     "exited on signal 9", "killed"},
    {"MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD",
     "MPI_ABORT was invoked", "MPI ended the job"},
    {"Killed", "Killed", "killed"},
    {"OSError: [Errno 28] No space left on device", "No space left", "disk is full"},
    {"terminate called after throwing an instance of 'std::bad_alloc'", "std::bad_alloc",
     "host ran out of memory"},
    {"[node0:00203] *** Process received signal ***\n"
     "[node0:00203] Signal: Segmentation fault (11)",
     "Segmentation fault", "crashed"},
    {"2019-10-27 00:56:27.360763: E tensorflow/stream_executor/event.cc:34] error "
     "destroying "
     "CUDA event in context 0xfada9a0: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory "
     "access",
     "CUDA_ERROR_ILLEGAL_ADDRESS", "A card failed"},
    {"ERROR:tensorflow:Model diverged with loss = NaN.", "loss = NaN", "no number"},
};

TEST(a_crash_is_a_finding_with_its_line)
{
    for (uint64_t i = 0; i < 2 * sizeof crashes / sizeof *crashes; i++) {
        const struct crash *c = &crashes[i / 2];
        struct made_console m = made_console(i + 1);
        m.max_steps = 300000;
        m.tag = i % 4 == 3 ? "[1,2]<stderr>:" : NULL;
        made_console_begin(&m, 0);
        if (i % 2)
            made_console_steps(&m, 0, 20000, true);
        str_printf(&m.log, "%s\n", c->lines);
        struct judgement *t = judge(&m);
        judged_findings(t, "errors", i);
        if (t->health.n) {
            CHECK_HAS(str_text(&t->health.found[0].evidence), c->quoted);
            CHECK_HAS(str_text(&t->health.found[0].evidence), c->kind);
        }
        judged_code(t, ANSWER_time, i % 2 ? "died" : "missing", i);
        CHECK(t->run.state == RUN_DIED);
        CHECK(run_parameters(&t->run) == 60880896 && t->run.ranks == 4);
        CHECK(t->run.max_steps == 300000);
        judged_close(t);
    }
}

TEST(a_start_that_failed_is_a_log_of_its_error)
{
    struct made_console m = made_console(1);

    str_puts(&m.log, "[v100a:01607] WARNING: local probe returned unhandled shell\n"
                     "python: can't open file 'run.py': [Errno 2] No such file or "
                     "directory\n"
                     "Primary job  terminated normally, but 1 process returned\n");
    struct judgement *t = judge(&m);
    judged_findings(t, "errors", 1);
    CHECK(t->run.state == RUN_DIED);
    CHECK_HAS(str_text(&t->health.found[0].evidence), "can't open file 'run.py'");
    judged_close(t);
}

TEST(lines_that_a_terminal_told_twice_count_once)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_console m = made_console(seed);
        made_console_begin(&m, 0);
        made_console_steps(&m, 0, 20000, true);
        const size_t from = m.log.len;
        made_console_steps(&m, 20100, 20000 + 100 * (int)seed, false);
        char *told = strndup(m.log.data + from, m.log.len - from);
        str_printf(&m.log, "root@node0:/opt/OpenSeq2Seq# tail -f nohup.out\n%s", told);
        free(told);
        made_console_steps(&m, 20100 + 100 * (int)seed, m.max_steps - m.every, false);
        made_console_finish(&m);
        const double wall = m.t;
        struct judgement *t = judge(&m);
        CHECK(t->run.log.n_start == 1 && t->run.steps_lost == 0);
        CHECK_NEAR(t->run.times.wall, wall, 1e-3 * wall);
        CHECK(t->run.log.n_eval == 13);
        judged_findings(t, "", seed);
        judged_close(t);
    }
}

TEST(stalled_ops_are_told_although_training_went_on)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct made_console m = made_console(seed);
        made_console_begin(&m, 0);
        made_console_steps(&m, 0, 20000, true);
        made_console_line(&m,
                          "WARNING: One or more tensors were submitted to be reduced, "
                          "gathered or broadcasted by subset of ranks and are waiting "
                          "for remainder of ranks for more than 60 seconds.");
        made_console_line(&m, "Stalled ops:");
        made_console_steps(&m, 20100, m.max_steps - m.every, false);
        made_console_finish(&m);
        struct judgement *t = judge(&m);
        judged_findings(t, "errors", seed);
        judged_close(t);
    }
}

TEST(of_two_attempts_in_one_file_the_last_is_the_run)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_console m = made_console(seed);
        const int first = 3000 + 1000 * (int)seed;
        m.batch = 128;
        made_console_begin(&m, 0);
        made_console_steps(&m, 0, first, true);
        made_console_line(&m, "MPI_ABORT was invoked on rank 3");
        m.t = 0;
        m.batch = 256;
        m.zero += 1e5;
        made_console_whole(&m);
        const double wall = m.t;
        struct judgement *t = judge(&m);
        judged_findings(t, "", seed);
        CHECK(run_config(&t->run, "batch_size_per_gpu") == 256);
        CHECK_NEAR(t->run.times.wall, wall, 2e-3 * wall);
        CHECK(t->run.log.n_start == 1 && t->run.steps_lost == 0);
        CHECK(t->run.log.foreign.n_attempts == 2);
        if (t->run.log.foreign.n_attempts == 2) {
            CHECK(t->run.log.foreign.attempt[0].last == first);
            CHECK_HAS(t->run.log.foreign.attempt[0].end, "MPI_ABORT");
            CHECK(t->run.log.foreign.attempt[1].is_reported);
        }
        judged_close(t);
    }
}

TEST(an_attempt_that_never_trained_does_not_hide_the_one_before)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct made_console m = made_console(seed);
        made_console_whole(&m);
        made_console_begin(&m, 0);
        made_console_line(&m, "Traceback (most recent call last):");
        made_console_line(&m, "OSError: Log directory is not empty");
        struct judgement *t = judge(&m);
        CHECK(t->run.step == m.max_steps);
        CHECK(t->run.log.foreign.n_attempts == 2);
        CHECK(t->run.log.foreign.attempt[0].is_reported);
        CHECK_HAS(t->run.log.foreign.attempt[1].end, "not empty");
        judged_findings(t, "", seed);
        judged_close(t);
    }
}

TEST(a_resumption_goes_on_from_its_checkpoint)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct made_console m = made_console(seed);
        made_console_begin(&m, 0);
        made_console_steps(&m, 0, 22000, true);
        made_console_begin(&m, 20000);
        made_console_steps(&m, 20000, m.max_steps - m.every, true);
        made_console_finish(&m);
        struct judgement *t = judge(&m);
        CHECK(t->run.log.n_start == 2);
        CHECK_NEAR(t->run.steps_lost, 2000, 101);
        CHECK(t->run.log.foreign.n_attempts <= 1);
        CHECK_NEAR(t->run.log.foreign.t_startup, 2 * m.startup, 0.1 * m.startup);
        judged_close(t);
    }
}

TEST(a_resumption_takes_its_own_configuration)
{
    struct made_console m = made_console(1);
    m.max_steps = 20000;
    made_console_whole(&m);
    m.max_steps = 50000;
    m.batch = 128;
    made_console_begin(&m, 20000);
    made_console_steps(&m, 20000, m.max_steps - m.every, true);
    made_console_finish(&m);
    struct judgement *t = judge(&m);
    CHECK(t->run.max_steps == 50000 && t->run.step == 50000);
    CHECK(run_config(&t->run, "batch_size_per_gpu") == 128);
    CHECK(t->run.times.idle == 0 && t->run.log.n_start == 2);
    judged_findings(t, "", 1);
    judged_close(t);
}

TEST(steps_that_go_back_without_a_word_are_lost_work)
{
    struct made_console m = made_console(1);
    m.has_dates = false;
    made_console_begin(&m, 0);
    made_console_steps(&m, 0, 22000, true);
    made_console_steps(&m, 20000, m.max_steps - m.every, false);
    made_console_finish(&m);
    struct judgement *t = judge(&m);
    CHECK(t->run.log.n_start == 2);
    CHECK_NEAR(t->run.steps_lost, 2000, 201);
    CHECK(t->run.step == m.max_steps);
    for (size_t i = 1; i < t->run.learning.train.n; i++)
        CHECK(t->run.learning.train.x[i] > t->run.learning.train.x[i - 1]);
    judged_close(t);
}

TEST(an_error_right_after_a_loss_line_or_the_configuration_is_seen)
{
    for (int i = 0; i < 2; i++) {
        struct made_console m = made_console(1);
        if (i == 0) {
            made_console_begin(&m, 0);
            made_console_steps(&m, 0, 5000, true);
            made_console_line(&m, "*** Global step 5100: ***     Train loss: 2.1 ");
        } else {
            made_console_line(&m, "*** Starting training from scratch");
            made_console_line(&m, "*** Training config:");
            made_console_line(&m, "{'batch_size_per_gpu': 128, 'max_steps': 9}");
        }
        made_console_line(&m, "Traceback (most recent call last):");
        made_console_line(&m, "ValueError: no such file");
        struct judgement *t = judge(&m);
        judged_findings(t, "errors", (uint64_t)i);
        judged_close(t);
    }
}

TEST(an_attempt_that_failed_after_its_configuration_is_its_own)
{
    struct made_console m = made_console(1);
    made_console_line(&m, "*** Starting training from scratch");
    made_console_line(&m, "*** Training config:");
    made_console_line(&m, "{'batch_size_per_gpu': 64, 'max_steps': 9}");
    made_console_line(&m, "Traceback (most recent call last):");
    made_console_line(&m, "ValueError: no such file");
    made_console_whole(&m);
    struct judgement *t = judge(&m);
    CHECK(run_config(&t->run, "batch_size_per_gpu") == 256);
    CHECK(t->run.log.foreign.n_attempts == 2);
    judged_findings(t, "", 1);
    judged_close(t);
}

TEST(a_host_that_is_seen_alone_is_not_taken_for_all)
{
    struct made_console m = made_console(1);
    m.has_nccl = false;
    made_console_begin(&m, 0);
    made_console_line(&m, "node0:200:284 [0] NCCL INFO rank 0 nranks 4");
    made_console_steps(&m, 0, m.max_steps - m.every, true);
    made_console_finish(&m);
    struct judgement *t = judge(&m);
    CHECK(isnan(runlog_latest(&t->run.log)->nodes));
    judged_code(t, ANSWER_network, "BOUND MIXED COMPUTE_BOUND", 1);
    judged_close(t);
}

TEST(evaluations_as_often_as_loss_lines_leave_a_pace)
{
    struct made_console m = made_console(1);
    m.eval_every = 100;
    m.max_steps = 5000;
    made_console_whole(&m);
    struct judgement *t = judge(&m);
    CHECK_NEAR(t->run.pace.mean, m.step_seconds + m.eval_seconds / 100, 0.05);
    judged_close(t);
}

TEST(hostile_logs_end_in_time)
{
    struct made_console m = made_console(1);
    for (int i = 0; i < 300000; i++)
        str_printf(&m.log, "*** Global step %d: ***     Train loss: %d.5 \n",
                   i % 2 ? 5 : 1000, i);
    for (int i = 0; i < 100000; i++)
        str_puts(&m.log, "***     Validation loss: 2.5 \n*** Global step 7: loss: 1\n");
    str_puts(&m.log, "*** Training config:\n{'key': 'cut");
    struct judgement *t = judge(&m);
    CHECK(t->run.log.n_start <= 1000);
    judged_close(t);
}

TEST(dates_between_the_lines_give_the_clock)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_console m = made_console(seed);
        m.has_dates = seed != 1;
        made_console_whole(&m);
        const double end = m.zero + m.t;
        struct judgement *t = judge(&m);
        CHECK(t->run.log.foreign.has_no_clock == !m.has_dates);
        if (m.has_dates)
            CHECK_NEAR(t->run.log.t_last, end, m.every * m.step_seconds + 60);
        CHECK(!strstr(str_text(&t->answers.of[ANSWER_time].verdict), "1970"));
        judged_close(t);
    }
}

TEST(a_whole_log_leaves_no_question_open_and_nothing_internal)
{
    static const char *const internal[] = {"t_comm",  "t_step",    "t_compute", "gflops",
                                           "missing", "not known", "1970"};
    struct made_console m = made_console(1);
    made_console_whole(&m);
    struct judgement *t = judge(&m);

    for (size_t i = 0; i < ANSWERS_N; i++) {
        const struct answer *a = &t->answers.of[i];
        struct str all = str_new(0);
        str_printf(&all, "%s %s", str_text(&a->number), str_text(&a->verdict));
        for (size_t k = 0; k < a->n_rows; k++)
            str_printf(&all, " %s: %s", str_text(&a->row[k].label),
                       str_text(&a->row[k].value));
        for (size_t k = 0; k < sizeof internal / sizeof *internal; k++)
            if (strstr(str_text(&all), internal[k]))
                test_fail(__FILE__, __LINE__, "'%s' says '%s': %s", a->id, internal[k],
                          str_text(&all));
        str_release(&all);
    }
    judged_close(t);
}

TEST(too_few_evaluations_are_counted_as_what_they_are)
{
    struct made_console m = made_console(1);
    made_console_begin(&m, 0);
    made_console_steps(&m, 0, 12100, true); /* evaluations at 0, 4001, 8002, 12003 */
    struct judgement *t = judge(&m);
    judged_code(t, ANSWER_trained, "EARLY", 1);
    CHECK_HAS(str_text(&t->answers.of[ANSWER_trained].verdict), "holds 3");
    judged_close(t);
}

TEST(hosts_cards_and_network_are_read)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_console m = made_console(seed);
        m.tag = seed % 2 ? "[1,0]<stdout>:" : NULL;
        made_console_whole(&m);
        struct judgement *t = judge(&m);
        const struct runlog_start *s = runlog_latest(&t->run.log);
        CHECK(s && s->ranks == 4 && s->nodes == 2);
        CHECK_HAS(s->host, "node0, node1");
        CHECK_HAS(s->device, "V100");
        CHECK_HAS(s->backend, "eth1");
        judged_close(t);
    }
}

TEST(the_learning_rate_follows_from_the_printed_configuration)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_console m = made_console(seed);
        const int last = 1500 * (int)seed;
        m.max_steps = 300000;
        made_console_begin(&m, 0);
        made_console_steps(&m, 0, last, true);
        struct judgement *t = judge(&m);
        const double top = fmin(last, 8000);
        judged_code(t, ANSWER_rate, "computed", seed);
        CHECK(value(t, ANSWER_rate, "peak_step") <= last);
        CHECK_NEAR(value(t, ANSWER_rate, "peak_rate"),
                   2 / sqrt(512) * fmin(top * pow(8000, -1.5), 1 / sqrt(top)), 1e-6);
        judged_close(t);
    }
}

TEST(the_gap_compares_losses_of_the_same_step)
{
    double sum = 0;

    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_console m = made_console(seed);
        m.noise = 0.002;
        made_console_whole(&m);
        struct judgement *t = judge(&m);
        const struct series *gap = &t->run.learning.gap;
        for (size_t i = 1; i < gap->n; i++) { /* the truth is -0.03 at every step */
            CHECK_NEAR(gap->y[i], -0.03, 0.09);
            sum += gap->y[i] / (double)(gap->n - 1) / CASES;
        }
        judged_close(t);
    }
    CHECK_NEAR(sum, -0.03, 0.01);
}

TEST(the_network_is_computed_from_the_ring)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_console m = made_console(seed);
        struct network w;
        m.step_seconds = seed % 2 ? 1.9 : 35;
        m.max_steps = 10000;
        made_console_whole(&m);
        struct judgement *t = judge(&m);
        network_judge(&w, &t->run);
        CHECK(w.is_computed);
        CHECK_NEAR(w.sent, 365285376, 1);
        CHECK_NEAR(w.t_alone, 0.6, 0.06);
        judged_code(t, ANSWER_network, "BOUND", seed);
        judged_code(t, ANSWER_busy, "waiting", seed);
        judged_findings(t, seed % 2 ? "" : "slow_port", seed);
        judged_close(t);

        m = made_console(seed); /* one host: nothing passes a card */
        m.hosts = 1;
        made_console_whole(&m);
        t = judge(&m);
        judged_code(t, ANSWER_network, "none", seed);
        judged_close(t);
    }
}

TEST(few_evaluations_that_fall_are_still_improving)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct made_console m = made_console(seed);
        m.max_steps = 300000;
        m.noise = 0.008;
        made_console_begin(&m, 0);
        made_console_steps(&m, 0, 20800, true);
        struct judgement *t = judge(&m);
        judged_code(t, ANSWER_trained, "IMPROVING", seed);
        judged_close(t);
    }
}

TEST(samples_are_text_and_told_as_what_they_are)
{
    struct made_console m = made_console(1);
    made_console_whole(&m);
    struct judgement *t = judge(&m);
    const struct runlog *log = &t->run.log;

    CHECK(log->n_sample > 0);
    if (log->n_sample) {
        const struct runlog_sample *s = &log->sample[log->n_sample - 1];
        CHECK(strcmp(s->kind, "forced-training") == 0);
        CHECK(strcmp(s->source, "The ship was Killed.") == 0);
        CHECK(strcmp(s->translation, "Das Schiff.") == 0);
    }
    judged_close(t);
}

TEST(a_log_that_is_being_written_is_of_a_running_run)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct made_console m = made_console(seed);
        m.has_dates = seed % 2 == 0;
        m.zero = clock_wall() - 9000 * m.step_seconds;
        made_console_begin(&m, 0);
        made_console_steps(&m, 0, 9000, true);
        struct judgement *t = judge_at(&m, 1);
        judged_code(t, ANSWER_time, "running", seed);
        judged_findings(t, "", seed);
        judged_close(t);
    }
}

TEST(a_fresh_copy_of_an_old_log_is_not_running)
{
    struct made_console m = made_console(1);
    made_console_begin(&m, 0);
    made_console_steps(&m, 0, 9000, true);
    struct judgement *t = judge_at(&m, 1);
    judged_code(t, ANSWER_time, "open", 1);
    judged_findings(t, "died", 1);
    judged_close(t);
}

/* Event files of a run of this many steps that began at t0, with an evaluation after the
 * last training entry. */
static void write_events(const char *dir, double t0, int steps)
{
    struct tb_event_writer w;
    struct err err;

    CHECK_OK(file_make_dirs(dir, &err), &err);
    CHECK_OK(tb_event_open(&w, dir, t0, &err), &err);
    for (int s = 0; s <= steps; s += 100) {
        const double t = t0 + 1.5 * s;
        const float loss = (float)(1.5 + 7 / (1 + s / 900.0));
        const struct tb_event_value train[] = {{"train_loss", loss},
                                               {"learning_rate", 1e-3F}};
        const struct tb_event_value eval[] = {{"eval_loss", loss}};
        CHECK_OK(tb_event_scalars(&w, s, t, train, 2, &err), &err);
        if (s % 2000 == 0 || s == steps)
            CHECK_OK(tb_event_scalars(&w, s, t + 30, eval, 1, &err), &err);
    }
    CHECK_OK(tb_event_close(&w, &err), &err);
}

static struct judgement *judge_events(const char *dir, double now)
{
    struct judgement *t;
    struct err err;

    CHECK_OK(mem_alloc(&t, 1, sizeof *t, &err), &err);
    CHECK_OK(judgement_look(t, dir, now, NULL, &err), &err);
    return t;
}

TEST(events_end_with_the_last_evaluation_and_say_no_more)
{
    const double t0 = 1.6e9, end = t0 + 1.5 * 20000 + 30;

    write_events(test_path("events"), t0, 20000);
    struct judgement *t = judge_events(test_path("events"), end + 1e6);
    CHECK_NEAR(t->run.log.t_last, end, 1e-3);
    CHECK_NEAR(t->run.times.wall, end - t0, 1e-3);
    CHECK_NEAR(t->run.pace.mean, 1.5, 1e-3);
    judged_code(t, ANSWER_time, "open", 1);
    judged_findings(t, "", 1);
    judged_close(t);
    t = judge_events(test_path("events"), end + 20);
    judged_code(t, ANSWER_time, "running", 2);
    judged_close(t);
}

TEST(events_of_two_attempts_in_one_directory_are_two_runs)
{
    write_events(test_path("twice"), 1.6e9, 6000);
    write_events(test_path("twice"), 1.61e9, 20000);
    struct judgement *t = judge_events(test_path("twice"), 1.7e9);
    CHECK(t->run.log.n_start == 1 && t->run.steps_lost == 0 && t->run.step == 20000);
    CHECK(t->run.log.foreign.n_attempts == 2);
    CHECK_NEAR(t->run.times.wall, 1.5 * 20000 + 30, 1e-3);
    judged_findings(t, "", 1);
    judged_close(t);
}
