#include "bench/doctor.h"
#include "cli/cmd.h"
#include "device/device.h"
#include "dist/comm/comm.h"

#define DOCTOR_OPTIONS(X) \
    X(CHOICE, device, "auto", "what to examine", ONE_OF(DEVICE_KINDS))

struct doctor_options {
    DOCTOR_OPTIONS(OPT_FIELD)
};

OPT_TABLE(cmd_doctor_options, struct doctor_options, DOCTOR_OPTIONS);

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
