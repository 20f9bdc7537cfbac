# The commands that ferry launch would run, and what it refuses.
expect 0 "$FERRY" launch mpi=openmpi --dry-run -H a:2,b:2 -- train base.yaml run=r
out_has 'ssh -o BatchMode=yes'
out_has "mpirun "
out_has "-n 4 --host a:2,b:2"
out_has "ferry train base.yaml run=r"
expect 0 "$FERRY" launch mpi=mpich --dry-run -n 2 -- train base.yaml
out_has "mpiexec.hydra -n 2 -hosts localhost:2"
printf 'a slots=2\nb slots=2\n' >hosts
expect 0 "$FERRY" launch mpi=openmpi --dry-run hostfile=hosts -n 3 -- train base.yaml
out_has "-n 3 --host a:2,b:1"

refuses 2 "where?" "$FERRY" launch -- train base.yaml
refuses 2 "say what to start" "$FERRY" launch -H a:2
refuses 2 "only train" "$FERRY" launch -n 2 -- translate x
refuses 2 "listed twice" "$FERRY" launch -H a:2,a:1 -- train x
refuses 2 "not a host's name" "$FERRY" launch -H 'a b' -- train x
refuses 2 "do not fit" "$FERRY" launch -H a:2 -n 3 -- train x
refuses 2 "not both" "$FERRY" launch -H a hostfile=hosts -- train x
refuses 2 "min_ranks is 4" "$FERRY" launch -H a:2 min_ranks=4 -- train x
refuses 2 "ports '1-2'" "$FERRY" launch -H a:2 ports=1-2 -- train x
refuses 2 "restart" "$FERRY" launch -H a:2 restart=1 -- train x
refuses 3 "absent" "$FERRY" launch hostfile=absent -- train x
refuses 3 "no-such-mpirun" "$FERRY" launch mpirun=no-such-mpirun -n 2 -- train x
