#include "test.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/file.h"
#include "base/str.h"
#include "report/read/capture.h"
#include "report/read/capture_stretch.h"

static struct err err;

static const char *written(const char *name, const char *text)
{
    CHECK_OK(file_write(test_path(name), text, strlen(text), &err), &err);
    return test_path(name);
}

static struct capture opened(const char *text)
{
    struct capture c;

    CHECK_OK(capture_open(&c, written("capture", text), &err), &err);
    return c;
}

static struct capture opened_str(struct str *text)
{
    struct capture c = opened(str_text(text));

    str_release(text);
    return c;
}

/* ---- stretches ---- */

static struct capture_stretch stretch_of(const double *x, size_t n)
{
    struct capture_stretch s = {0};

    for (size_t i = 0; i < n; i++)
        capture_stretch_level(&s, x[i]);
    capture_stretch_cut(&s, 0.1);
    for (size_t i = 0; i < n; i++)
        capture_stretch_look(&s, x[i]);
    return s;
}

TEST(hours_of_idling_do_not_hide_a_run)
{
    static double x[20000];

    for (size_t i = 0; i < 20000; i++)
        x[i] = i >= 7000 && i < 7400 ? 190e6 + (double)(i % 7) * 1e6 : 300;
    const struct capture_stretch s = stretch_of(x, 20000);
    CHECK(s.best.first == 7000 && s.best.last == 7399);
    CHECK(capture_stretch_length(&s) == 400);
    CHECK(capture_stretch_holds(&s, 7000) && !capture_stretch_holds(&s, 7400));
}

TEST(short_pauses_belong_to_a_stretch_and_long_ones_end_it)
{
    double x[400] = {0};

    for (size_t i = 20; i < 220; i++) /* steps of ten samples, two of them on the wire */
        x[i] = i % 10 < 2 ? 100 : 0;
    for (size_t i = 230; i < 260; i++) /* an evaluation of 18 samples lies before */
        x[i] = 100;
    for (size_t i = 350; i < 390; i++)
        x[i] = 100;
    const struct capture_stretch s = stretch_of(x, 400);
    CHECK(s.best.first == 20 && s.best.last == 259);
}

TEST(of_several_stretches_the_one_that_carried_most_is_kept)
{
    double x[300] = {0};

    for (size_t i = 10; i < 150; i++)
        x[i] = 20; /* a download, longer than the run */
    for (size_t i = 200; i < 280; i++)
        x[i] = 100;
    const struct capture_stretch s = stretch_of(x, 300);
    CHECK(s.best.first == 200 && s.best.last == 279);
}

TEST(what_never_was_busy_counts_whole)
{
    const double nothing[5] = {0}, unknown[3] = {NAN, NAN, NAN};
    const struct capture_stretch s = stretch_of(nothing, 5), u = stretch_of(unknown, 3);

    CHECK(capture_stretch_length(&s) == 5 && s.best.first == 0);
    CHECK(capture_stretch_length(&u) == 3 && capture_stretch_holds(&u, 2));
}

/* ---- nmon ---- */

#define NMON_HEAD                                                                     \
    "AAA,progname,nmon\nAAA,command,nmon -f -s 1 -c 300 \nAAA,version,16g\n"          \
    "AAA,host,v100a\nAAA,user,root\nAAA,OS,Linux,4.15.0,#1 SMP,x86_64\n"              \
    "AAA,time,19:52.16\nAAA,date,25-FEB-2020\nAAA,interval,1\nAAA,cpus,8\n"           \
    "CPU001,CPU 1 v100a,User%,Sys%,Wait%,Idle%,Steal%\n"                              \
    "CPU_ALL,CPU Total v100a,User%,Sys%,Wait%,Idle%,Steal%,Busy,CPUs\n"               \
    "MEM,Memory MB v100a,memtotal,hightotal,lowtotal,swaptotal,memfree\n"             \
    "NET,Network I/O v100a,lo-read-KB/s,eth1-read-KB/s,eth0-read-KB/s,lo-write-KB/s," \
    "eth1-write-KB/s,eth0-write-KB/s,\n"                                              \
    "NETPACKET,Network Packets v100a,lo-read/s,eth1-read/s,eth0-read/s,lo-write/s,"   \
    "eth1-write/s,eth0-write/s,\n"                                                    \
    "BBBP,000,/etc/release\nBBBP,001,lscpu,\"NET,T0001,7,7,7\"\n"

static void nmon_sample(struct str *text, int i, double received, double sent, double cpu)
{
    str_printf(
        text,
        "ZZZZ,T%04d,%02d:%02d:%02d,25-FEB-2020\nCPU001,T%04d,50.0,9.0,0.0,41.0,0.0\n"
        "CPU_ALL,T%04d,%.1f,1.0,0.0,%.1f,0.0,,8\n"
        "MEM,T%04d,61440.0,-0.0,-0.0,0.0,1000.0\n"
        "NET,T%04d,900000.0,0.2,%.1f,900000.0,0.1,%.1f,\n"
        "NETPACKET,T%04d,1.0,2.0,130000.0,1.0,2.0,130000.0,\n",
        i, 19 + (52 * 60 + 16 + i) / 3600, (52 * 60 + 16 + i) / 60 % 60, (16 + i) % 60, i,
        i, cpu, 99 - cpu, i, i, received, sent, i);
}

static struct str nmon_file(void)
{
    struct str text = str_new(0);

    str_puts(&text, NMON_HEAD);
    for (int i = 1; i <= 60; i++) {
        const bool is_training = i > 20 && i <= 50;
        if (is_training) /* swings by 10 around the mean, and ends where it began */
            nmon_sample(&text, i, 192336 + (i % 2 ? 10 : -10),
                        186027 + (i % 2 ? -10 : 10), 24);
        else
            nmon_sample(&text, i, 0.3, 0.1, 0);
    }
    return text;
}

static void check_nmon(const struct capture *c)
{
    CHECK(c->kind == CAPTURE_NMON && c->n == 60 && c->n_gpu == 0);
    CHECK_STR(c->host, "v100a");
    CHECK_NEAR(c->t_first, 1582660337, 0); /* 2020-02-25 19:52:17 */
    CHECK_NEAR(c->t_last, 1582660337 + 59, 0);
    CHECK(c->n_card == 3);
    CHECK_STR(c->card[0].name, "eth0");
    CHECK(c->card[0].n == 30 && c->card[0].n_all == 60);
    CHECK_NEAR(c->card[0].received, 192336 * 1024.0, 1e-12);
    CHECK_NEAR(c->card[0].sent, 186027 * 1024.0, 1e-12);
    CHECK_NEAR(c->card[0].received_max, 192346 * 1024.0, 1e-12);
    CHECK_NEAR(c->card[0].sent_max, 186037 * 1024.0, 1e-12);
    CHECK_NEAR(c->cpu_busy, 0.25, 1e-12);
    CHECK(c->cpus == 8);
}

TEST(nmon_tells_bytes_a_second_of_the_busiest_card_while_it_was_busy)
{
    struct str text = nmon_file();
    struct capture c = opened_str(&text);

    check_nmon(&c);
    CHECK_STR(c.card[1].name, "eth1");
    CHECK_NEAR(c.card[1].received, 0.2 * 1024, 1e-12);
    CHECK_STR(c.card[2].name, "lo"); /* carries most and is no card */
    capture_close(&c);
    capture_close(&c);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* nmon advises to sort its file for spreadsheets: sections then follow each other. */
TEST(nmon_may_be_sorted)
{
    struct str text = nmon_file(), sorted = str_new(0);
    char *line[2000], *rest = text.data;
    size_t n = 0;

    for (char *at; (at = strsep(&rest, "\n"));)
        if (*at)
            line[n++] = at;
    qsort(line, n, sizeof *line, by_text);
    for (size_t i = 0; i < n; i++)
        str_printf(&sorted, "%s\n", line[i]);
    str_release(&text);
    struct capture c = opened_str(&sorted);
    check_nmon(&c);
    capture_close(&c);
}

TEST(nmon_files_that_follow_each_other_may_name_other_cards)
{
    struct str text = nmon_file();

    str_puts(&text, "AAA,host,v100a\nNET,Network I/O v100a,eth0-read-KB/s,ib0-read-KB/s,"
                    "eth0-write-KB/s,ib0-write-KB/s\n");
    for (int i = 1; i <= 100; i++)
        str_printf(&text, "NET,T%04d,1.0,1000000.0,1.0,2000000.0\n", i);
    struct capture c = opened_str(&text);
    CHECK(c.n_card == 4 && c.card[0].n_all == 160 && c.card[0].n == 100);
    CHECK_STR(c.card[0].name, "ib0");
    CHECK_NEAR(c.card[0].received, 1000000 * 1024.0, 1e-12);
    CHECK_NEAR(c.card[0].sent, 2000000 * 1024.0, 1e-12);
    CHECK_STR(c.card[2].name, "eth0");
    CHECK_NEAR(c.card[2].received, 1024, 1e-12);
    CHECK_STR(c.card[3].name, "lo"); /* its place was taken, and it is not told of */
    CHECK(isnan(c.card[3].received));
    capture_close(&c);
}

TEST(nmon_built_for_gpus_tells_of_them)
{
    struct str text = str_new(0);

    str_puts(&text, "AAA,host,p9\nGPU_UTIL,GPU Utilization Percent,GPU1,GPU2\n"
                    "GPU_MEM,GPU Memory MB,GPU1,GPU2\n");
    for (int i = 1; i <= 30; i++)
        str_printf(&text,
                   "ZZZZ,T%04d,09:39:41,08-AUG-2019\nGPU_UTIL,T%04d,%d,0\n"
                   "GPU_TEMP,T%04d,39,41\nGPU_WATTS,T%04d,%d,25\nGPU_MEM,T%04d,%d,12\n",
                   i, i, i > 10 ? 90 : 0, i, i, i > 10 ? 105 : 24, i, i > 10 ? 2800 : 0);
    struct capture c = opened_str(&text);
    CHECK(c.kind == CAPTURE_NMON && c.n_card == 0 && c.n_gpu == 2 && c.n == 30);
    CHECK(c.gpu[0].index == 0 && c.gpu[1].index == 1);
    CHECK(c.gpu[0].n == 20 && c.gpu[0].n_all == 30 && c.gpu[1].n == 30);
    CHECK_NEAR(c.gpu[0].busy, 0.9, 1e-12);
    CHECK_NEAR(c.gpu[0].power_w, 105, 1e-12);
    CHECK_NEAR(c.gpu[0].memory_mib, 2800, 1e-12);
    CHECK_NEAR(c.gpu[0].temperature_c, 39, 1e-12);
    CHECK(isnan(c.gpu[0].power_limit_w) && isnan(c.gpu[0].low_power));
    CHECK(isnan(c.cpu_busy) && isnan(c.cpus));
    capture_close(&c);
}

TEST(the_memory_that_nmon_counts_in_percent_is_not_taken_for_mib)
{
    struct capture c = opened("AAA,host,p9\nGPU_UTIL,GPU Utilization Percent,GPU1\n"
                              "GPU_MEM,GPU Memory Utilization Percent,GPU1\n"
                              "GPU_UTIL,T0001,50\nGPU_MEM,T0001,30\n");

    CHECK(c.n_gpu == 1 && isnan(c.gpu[0].memory_mib));
    CHECK_NEAR(c.gpu[0].busy, 0.5, 1e-12);
    capture_close(&c);
}

/* ---- nvidia-smi --query-gpu ---- */

#define CSV_HEAD                                                                        \
    "timestamp, index, name, pci.bus_id, utilization.gpu [%], utilization.memory [%], " \
    "power.draw [W], power.limit [W], memory.used [MiB], memory.total [MiB], "          \
    "clocks.current.sm [MHz], clocks.max.sm [MHz], temperature.gpu\n"

static void csv_row(struct str *text, int i, int gpu, int busy, double power)
{
    str_printf(
        text,
        "2020/02/25 19:%02d:%02d.%03d, %d, Tesla V100-PCIE-16GB, 00000000:0%d:00.0, "
        "%d %%, 31 %%, %.2f W, 250.00 W, 15000 MiB, 16160 MiB, 1380 MHz, 1380 MHz, "
        "45\n",
        i / 60, i % 60, 100 + gpu, gpu, 4 + gpu, busy, power);
}

TEST(two_gpus_drawing_45_of_250_w_while_busy)
{
    struct str text = str_new(0);

    str_puts(&text, CSV_HEAD);
    for (int i = 0; i < 100; i++)
        for (int gpu = 0; gpu < 2; gpu++) {
            const bool is_on = i >= 30 && i < 90;
            csv_row(&text, i, gpu, is_on ? 100 : 0,
                    !is_on  ? 25.5
                    : gpu   ? 45.25
                    : i % 4 ? 45
                            : 200);
        }
    struct capture c = opened_str(&text);
    CHECK(c.kind == CAPTURE_GPU && c.n_gpu == 2 && c.n == 100 && c.n_card == 0);
    CHECK_NEAR(c.t_first, 1582657200, 0); /* 2020-02-25 19:00:00 */
    CHECK_NEAR(c.t_last, 1582657200 + 99, 0);
    for (int gpu = 0; gpu < 2; gpu++) {
        const struct capture_gpu *g = &c.gpu[gpu];
        CHECK_STR(g->name, "Tesla V100-PCIE-16GB");
        CHECK(g->index == gpu && g->n == 60 && g->n_all == 100);
        CHECK_NEAR(g->busy, 1, 1e-12);
        CHECK_NEAR(g->power_limit_w, 250, 1e-12);
        CHECK_NEAR(g->memory_mib, 15000, 1e-12);
        CHECK_NEAR(g->memory_all_mib, 16160, 1e-12);
        CHECK_NEAR(g->clock_mhz, 1380, 1e-12);
        CHECK_NEAR(g->clock_max_mhz, 1380, 1e-12);
        CHECK_NEAR(g->temperature_c, 45, 1e-12);
    }
    CHECK_NEAR(c.gpu[1].power_w, 45.25, 1e-12);
    CHECK_NEAR(c.gpu[1].low_power, 1, 1e-12);
    CHECK_NEAR(c.gpu[0].power_w, (3 * 45 + 200) / 4.0, 1e-12);
    CHECK_NEAR(c.gpu[0].power_max_w, 200, 1e-12);
    CHECK_NEAR(c.gpu[0].low_power, 0.75, 1e-12);
    capture_close(&c);
}

TEST(columns_come_in_any_order_without_units_and_after_a_second_header)
{
    struct capture c = opened(
        "power.draw [W], name, utilization.gpu [%], enforced.power.limit [W], uuid, "
        "power.limit [W], clocks.sm [MHz], fan.speed [%]\n"
        "130.00, Tesla T4, 100, 70.00, GPU-1b, 300, 1590, [N/A]\n"
        "130.00, Tesla T4, 90, 70.00, GPU-1b, 300, 1590, [N/A]\n"
        "\n"
        "uuid, utilization.gpu [%], power.draw [W], enforced.power.limit [W]\n"
        "GPU-1b, 80, [Not Supported], N/A\n"
        "GPU-2c, 10, 20.00, 70.00\n"
        "GPU-2c, 12\n");

    CHECK(c.n_gpu == 2 && c.gpu[0].n == 3 && c.gpu[1].n == 1);
    CHECK_STR(c.gpu[0].name, "Tesla T4");
    CHECK_NEAR(c.gpu[0].busy, 0.9, 1e-12);
    CHECK_NEAR(c.gpu[0].power_w, 130, 1e-12);
    CHECK_NEAR(c.gpu[0].power_limit_w, 70, 1e-12);
    CHECK_NEAR(c.gpu[0].low_power, 0, 1e-12);
    CHECK_NEAR(c.gpu[0].clock_mhz, 1590, 1e-12);
    CHECK(isnan(c.gpu[0].clock_max_mhz) && isnan(c.gpu[0].index));
    CHECK_STR(c.gpu[1].name, "");
    CHECK(isnan(c.t_first) && isnan(c.t_last));
    capture_close(&c);
}

TEST(values_that_cannot_be_are_as_good_as_none)
{
    struct capture c =
        opened("index, utilization.gpu [%], power.draw [W], memory.used [MiB]\n"
               "0, 100 %, 100 W, 10 MiB\n"
               "0, 4000 %, -5 W, nan MiB\n"
               "0, inf, 1e400 W, [Unknown Error]\n"
               "0, 50 %, 200 W, 0x1p5000\n");

    CHECK(c.n_gpu == 1 && c.gpu[0].n == 4);
    CHECK_NEAR(c.gpu[0].busy, 0.75, 1e-12);
    CHECK_NEAR(c.gpu[0].power_w, 150, 1e-12);
    CHECK_NEAR(c.gpu[0].memory_mib, 10, 1e-12);
    capture_close(&c);
}

TEST(power_alone_tells_when_a_gpu_was_busy)
{
    struct str text = str_new(0);

    str_puts(&text, "power.draw [W]\n");
    for (int i = 0; i < 200; i++)
        str_printf(&text, "%d.5 W\n", i >= 60 && i < 180 ? 240 : 30);
    struct capture c = opened_str(&text);
    CHECK(c.n_gpu == 1 && c.gpu[0].n == 120 && c.gpu[0].n_all == 200);
    CHECK_NEAR(c.gpu[0].power_w, 240.5, 1e-12);
    CHECK(isnan(c.gpu[0].busy));
    capture_close(&c);
}

/* ---- the table ---- */

/* clang-format off */
#define TABLE                                                                             \
    "Tue Feb  4 19:52:%02d 2020       \n"                                                \
    "+-----------------------------------------------------------------------------+\n"  \
    "| NVIDIA-SMI 440.33.01    Driver Version: 440.33.01    CUDA Version: 10.2     |\n"  \
    "|-------------------------------+----------------------+----------------------+\n"  \
    "| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |\n"  \
    "| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |\n"  \
    "|===============================+======================+======================|\n"  \
    "|   0  Tesla V100-PCIE...  Off  | 00000000:04:00.0 Off |                    0 |\n"  \
    "| N/A   45C    P0    %s / 250W |  15000MiB / 16160MiB |    %3d%%      Default |\n"  \
    "+-------------------------------+----------------------+----------------------+\n"  \
    "|   1  NVIDIA GeForce RTX 3090         Off| 00000000:05:00.0 Off |         N/A |\n"  \
    "| 30%%   27C    P8                8W / 350W|  16190MiB / 24576MiB |   N/A  Def. |\n" \
    "|                               |                      |                  N/A |\n"  \
    "|  1    7   0   0  |      4MiB / 16384MiB | 14      0 |  1   0    0    0    0 |\n"  \
    "+-------------------------------+----------------------+----------------------+\n"  \
    "\n"                                                                                 \
    "+-----------------------------------------------------------------------------+\n"  \
    "| Processes:                                                       GPU Memory |\n"  \
    "|  GPU       PID   Type   Process name                             Usage      |\n"  \
    "|=============================================================================|\n"  \
    "|    0      3721      C   /usr/bin/python3                           14990MiB |\n"  \
    "+-----------------------------------------------------------------------------+\n"
/* clang-format on */

TEST(the_table_is_read_as_often_as_it_was_printed)
{
    struct str text = str_new(0);

    for (int i = 0; i < 40; i++)
        str_printf(&text, TABLE, i,
                   i < 12    ? " 26W"
                   : i == 13 ? "ERR!"
                             : " 45W",
                   i < 12 ? 0 : 100);
    struct capture c = opened_str(&text);
    CHECK(c.kind == CAPTURE_GPU && c.n_gpu == 2 && c.n == 40);
    CHECK_STR(c.gpu[0].name, "Tesla V100-PCIE...");
    CHECK_STR(c.gpu[1].name, "NVIDIA GeForce RTX 3090");
    CHECK(c.gpu[0].index == 0 && c.gpu[1].index == 1);
    CHECK(c.gpu[0].n == 28 && c.gpu[0].n_all == 40 && c.gpu[1].n_all == 40);
    CHECK_NEAR(c.gpu[0].busy, 1, 1e-12);
    CHECK_NEAR(c.gpu[0].power_w, 45, 1e-12);
    CHECK_NEAR(c.gpu[0].power_limit_w, 250, 1e-12);
    CHECK_NEAR(c.gpu[0].low_power, 1, 1e-12);
    CHECK_NEAR(c.gpu[0].memory_mib, 15000, 1e-12);
    CHECK_NEAR(c.gpu[0].memory_all_mib, 16160, 1e-12);
    CHECK_NEAR(c.gpu[0].temperature_c, 45, 1e-12);
    CHECK(isnan(c.gpu[1].busy) && isnan(c.gpu[1].low_power));
    CHECK_NEAR(c.gpu[1].power_w, 8, 1e-12);
    CHECK_NEAR(c.t_first, 1580845920, 0); /* 2020-02-04 19:52:00 */
    CHECK_NEAR(c.t_last, 1580845959, 0);
    capture_close(&c);
}

/* ---- files ---- */

TEST(captures_may_be_compressed)
{
    struct str text = nmon_file();
    gzFile out = gzopen(test_path("host.nmon.gz"), "wb");
    struct capture c;

    CHECK(out && gzwrite(out, text.data, (unsigned)text.len) == (int)text.len);
    gzclose(out);
    str_release(&text);
    CHECK(capture_sniff(test_path("host.nmon.gz")) == CAPTURE_NMON);
    CHECK_OK(capture_open(&c, test_path("host.nmon.gz"), &err), &err);
    check_nmon(&c);
    capture_close(&c);
}

TEST(first_lines_tell_the_kind)
{
    struct str text = str_new(0);

    str_printf(&text, TABLE, 1, " 45W", 100);
    CHECK(capture_sniff(written("t", str_text(&text))) == CAPTURE_GPU);
    str_release(&text);
    CHECK(capture_sniff(written("n", NMON_HEAD)) == CAPTURE_NMON);
    CHECK(capture_sniff(written("c", CSV_HEAD)) == CAPTURE_GPU);
    CHECK(capture_sniff(written("l", "*** Building graph on GPU\nname, index\n")) ==
          CAPTURE_NONE);
    CHECK(capture_sniff(written("e", "")) == CAPTURE_NONE);
    CHECK(capture_sniff(test_path("absent")) == CAPTURE_NONE);
    CHECK(capture_sniff(test_dir()) == CAPTURE_NONE);
}

TEST(what_is_no_capture_is_refused_in_a_sentence)
{
    struct capture c;

    CHECK_FAILS(capture_open(&c, test_path("absent"), &err), &err, ERR_IO, "absent");
    CHECK_FAILS(capture_open(&c, test_dir(), &err), &err, ERR_IO, "not a regular file");
    CHECK(mkfifo(test_path("pipe"), 0600) == 0); /* nobody writes to it: no waiting */
    CHECK_FAILS(capture_open(&c, test_path("pipe"), &err), &err, ERR_IO,
                "not a regular file");
    CHECK_FAILS(capture_open(&c, written("x", ""), &err), &err, ERR_FORMAT, "neither");
    CHECK_FAILS(capture_open(&c, written("x", "a,b\n1,2\n"), &err), &err, ERR_FORMAT,
                "neither a file of nmon nor what nvidia-smi printed");
    CHECK_FAILS(capture_open(&c, written("x", NMON_HEAD), &err), &err, ERR_FORMAT,
                "a file of nmon without one whole sample");
    CHECK_FAILS(capture_open(&c, written("x", CSV_HEAD "2020/02/25 19:52"), &err), &err,
                ERR_FORMAT, "without one whole sample");
    CHECK_FAILS(capture_open(&c, written("x", "\x1f\x8b\x08 cut"), &err), &err,
                ERR_FORMAT, "gzip");
    CHECK(c.gpu == NULL && c.card == NULL);
}

/* Every beginning of a good file is a capture or a sentence. */
TEST(a_capture_may_end_anywhere)
{
    struct str text = str_new(0);
    struct capture c;

    str_puts(&text, NMON_HEAD);
    nmon_sample(&text, 1, 192336, 186027, 24);
    nmon_sample(&text, 2, 192336, 186027, 24);
    for (size_t n = 0; n < text.len; n++) {
        CHECK_OK(file_write(test_path("cut"), text.data, n, &err), &err);
        err.msg[0] = '\0';
        const status result = capture_open(&c, test_path("cut"), &err);
        CHECK(result == OK ? c.n >= 1 && c.n <= 2 : err.msg[0] != '\0');
        capture_close(&c);
    }
    str_release(&text);
}

TEST(absurd_numbers_of_columns_cards_and_gpus_are_bounded)
{
    struct str text = str_new(0);

    str_puts(&text, "AAA,host,many\nNET,Network I/O many");
    for (int i = 0; i < 3000; i++)
        str_printf(&text, ",veth%d-read-KB/s", i);
    for (int k = 1; k < 4; k++) {
        str_printf(&text, "\nNET,T%04d", k);
        for (int i = 0; i < 3000; i++)
            str_printf(&text, ",%d", i);
    }
    str_puts(&text, "\nGPU_UTIL,T0001");
    for (int i = 0; i < 3000; i++)
        str_puts(&text, ",7");
    struct capture c = opened_str(&text);
    CHECK(c.n_card == CAPTURE_CARDS_MAX && c.n_gpu == CAPTURE_GPUS_MAX);
    CHECK_STR(c.card[0].name, "veth255");
    CHECK_NEAR(c.card[0].received, 255 * 1024.0, 1e-12);
    CHECK(isnan(c.card[0].sent));
    capture_close(&c);
    text = str_new(0);
    str_puts(&text, "uuid, power.draw [W]\n");
    for (int i = 0; i < 100; i++)
        str_printf(&text, "GPU-%d, 45 W\n", i);
    c = opened_str(&text);
    CHECK(c.n_gpu == CAPTURE_GPUS_MAX);
    capture_close(&c);
}

TEST(a_line_of_megabytes_is_refused)
{
    const size_t n = 3 << 20;
    char *text = malloc(n);
    struct capture c;

    CHECK(text);
    memset(text, 'x', n);
    memcpy(text, "AAA,host,x\n", 11);
    CHECK_OK(file_write(test_path("long"), text, n, &err), &err);
    CHECK_FAILS(capture_open(&c, test_path("long"), &err), &err, ERR_FORMAT,
                "line 2 is longer than 1048576 bytes");
    memset(text, '\0', n);
    CHECK_OK(file_write(test_path("long"), text, n, &err), &err);
    CHECK(capture_sniff(test_path("long")) == CAPTURE_NONE);
    CHECK_FAILS(capture_open(&c, test_path("long"), &err), &err, ERR_FORMAT, "neither");
    free(text);
}

TEST(names_that_no_page_could_show_become_question_marks)
{
    struct capture c = opened("AAA,host,a\x1b[2J\xff<b>\n"
                              "NET,Network I/O x,e\xc3\xa4th0-read-KB/s\nNET,T0001,4\n");

    CHECK_STR(c.host, "a?[2J?<b>");
    CHECK_STR(c.card[0].name, "e??th0");
    capture_close(&c);
}

static long most_kib(void)
{
    struct rusage use;

    getrusage(RUSAGE_SELF, &use);
    return use.ru_maxrss;
}

TEST(memory_does_not_depend_on_the_number_of_samples)
{
    FILE *file = fopen(test_path("large"), "we");
    struct str row = str_new(0);
    struct capture c;

    CHECK(file && fputs(CSV_HEAD, file) >= 0);
    csv_row(&row, 0, 0, 100, 45);
    for (int i = 0; i < 200000; i++) /* 32 MB */
        CHECK(fputs(str_text(&row), file) >= 0);
    CHECK(fclose(file) == 0);
    str_release(&row);
    const long before = most_kib();
    CHECK_OK(capture_open(&c, test_path("large"), &err), &err);
    CHECK(c.n == 200000 && c.gpu[0].n == 200000);
    CHECK(most_kib() - before < 8192);
    capture_close(&c);
}
