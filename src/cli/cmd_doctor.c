#include "bench/doctor.h"
#include "cli/cmd.h"
#include "device/device.h"
#include "dist/comm/comm.h"

struct doctor_options {
    OPT_FIELD_CHOICE(device)
};

static const struct opt rows[] = {OPT_ROW(CHOICE, offsetof(struct doctor_options, device),
                                          device, "auto", "what to examine",
                                          ONE_OF(DEVICE_KINDS))};

const struct opt_table cmd_doctor_options = {rows, sizeof rows / sizeof *rows};

status cmd_doctor(int argc, char **argv, struct err *err)
{
    struct doctor_options o;
    struct opt_words words = {0};
    struct comm comm;

    TRY(opt_read(cmd_doctor_options, &o, &words, argc, argv, err));
    TRY(comm_open(&comm, (struct comm_options){.kind = "auto", .poll_us = 50}, err));
    const status result = doctor_run(&comm, o.device, stdout, err);
    comm_close(&comm);
    return result;
}
