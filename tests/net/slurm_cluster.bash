# A SLURM of the lab's own: a controller on the head, a daemon on every host, with a key, state
# and logs of their own under $WORK, beside any SLURM of this machine. Sourced by slurm.bash.
#
#   cluster_up          start it, and wait until every host is idle
#   start_node HOST     the daemon of one host
#   on_head CMD...      a command of SLURM on the head
# The lab ends all of it when it is taken down.
cluster=$WORK/slurm

# SLURM proves who somebody is by MUNGE; a key of our own touches none of the machine's.
start_munge()
{
    install -d -m 700 "$cluster/munge"
    head -c 1024 /dev/urandom >"$cluster/munge/key"
    chmod 600 "$cluster/munge/key"
    lab head munged --foreground --force --key-file="$cluster/munge/key" --socket="$cluster/munge.socket" \
        --pid-file="$cluster/munge/pid" --log-file="$cluster/munge/log" --seed-file="$cluster/munge/seed" \
        >"$cluster/munge.out" 2>&1 &
    until_true 20 munge --socket="$cluster/munge.socket" -n
}

# cred_expire: a job that was put back waits that long, 120 s by default, before it starts again.
write_config()
{
    cat >"$cluster/slurm.conf" <<CONF
ClusterName=lab
SlurmctldHost=head
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$cluster/munge.socket,cred_expire=5
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdTimeout=10
KillWait=30
InactiveLimit=0
JobRequeue=0
StateSaveLocation=$cluster/state
SlurmdSpoolDir=/tmp/node/slurmd
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=/tmp/node/slurmd.pid
SlurmctldLogFile=$cluster/slurmctld.log
SlurmdLogFile=$cluster/slurmd.%n.log
NodeName=n[1-2] CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
    echo CgroupPlugin=cgroup/v1 >"$cluster/cgroup.conf"
    # The hosts share this machine's /tmp, and PMIx names its directory by job alone.
    echo PMIxCliTmpDirBase=/tmp/node-tmp >"$cluster/mpi.conf"
}

on_head() { lab head env SLURM_CONF="$cluster/slurm.conf" "$@"; }

start_node() { lab exec "$1" env SLURM_CONF="$cluster/slurm.conf" slurmd -N "$1" >"$cluster/slurmd.$1.out" 2>&1; }

is_idle() { [ "$(on_head sinfo --noheader --format=%D --states=idle)" = 2 ]; }

cluster_up()
{
    mkdir -p "$cluster/state"
    start_munge
    write_config
    on_head slurmctld -D >"$cluster/slurmctld.out" 2>&1 &
    start_node n1
    start_node n2
    until_true 60 is_idle
}
