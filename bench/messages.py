#!/usr/bin/env python3
"""Messages and bytes of each rank per update, as MPI carries them, for 2 to 64 ranks.

Every rank is a node of its own (FERRY_NODE). A library put in front of MPI counts what each
rank sends, by length, from the first update on, which begins with 312 bytes of marks (2,496
rows); a training of 12 updates less one of 2 gives 10 of them. Several programs can be
compared, and each way of exchanging. "Small" is all that is not a shard of gradients: facts
of the update and the embedding's marks.
usage: messages.py FERRY[:OPTION...]... [--ranks 2,4,8,16,32,64]
       messages.py old/ferry build/release/ferry:exchange=direct build/release/ferry:exchange=grid
"""
import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
COUNTER = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { SIZES = 4096, MARKS = 312 };
static long count[SIZES], size[SIZES];
static int has_begun;
int MPI_Isend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r)
{
    int i = 0;
    has_begun |= n == MARKS;
    if (!has_begun)
        return PMPI_Isend(b, n, t, to, tag, c, r);
    while (i < SIZES - 1 && count[i] && size[i] != n)
        i++;
    size[i] = n;
    count[i]++;
    return PMPI_Isend(b, n, t, to, tag, c, r);
}
int MPI_Finalize(void)
{
    char path[4096];
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s.%d", getenv("COUNTS"), rank);
    FILE *f = fopen(path, "w");
    for (int i = 0; i < SIZES && count[i]; i++)
        fprintf(f, "%ld %ld\n", size[i], count[i]);
    fclose(f);
    return PMPI_Finalize();
}
"""
OPTIONS = """d_model=64 d_ff=256 heads=2 encoder_layers=1 decoder_layers=1 batch_tokens=4000 max_length=64
    eval_every=0 save_every=0 eval_bleu=false log_every=1000 summary_every=1000 patience=0 threads=1 pin=false
    verify_data=false bucket_mib=0.4 data=data""".split()
OF_EACH = 112  # bytes that every rank once told every other
SMALL = 512


def quiet(words, work, **more):
    done = subprocess.run(list(map(str, words)), cwd=work, capture_output=True, text=True, env={**os.environ, **more})
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr[-2000:]}")


def sent(ferry, options, n_ranks, steps, work):
    """Of each rank: a count for each length."""
    root = ["--allow-run-as-root"] if os.getuid() == 0 else []
    node = 'FERRY_NODE=n$OMPI_COMM_WORLD_RANK LD_PRELOAD=$PWD/counter.so exec "$@"'
    quiet(["rm", "-rf", "run"], work)
    quiet(["mpirun.openmpi", *root, "--oversubscribe", "-n", n_ranks, "sh", "-c", node, "-", ferry, "train", "run=run",
           f"max_steps={steps}", *OPTIONS, *options], work, COUNTS=str(work / "counts"))
    all_ranks = []
    for rank in range(n_ranks):
        lines = (work / f"counts.{rank}").read_text().split("\n")[:-1]
        all_ranks.append(collections.Counter({int(a): int(b) for a, b in (line.split() for line in lines)}))
    return all_ranks


def per_update(ferry, options, n_ranks, work):
    """(small messages, small bytes, all messages, all bytes) that the busiest rank sends."""
    few, many = (sent(ferry, options, n_ranks, steps, work) for steps in (2, 12))
    rows = []
    for before, after in zip(few, many):
        after.subtract(before)
        small = {n: k for n, k in after.items() if n <= SMALL or n == n_ranks * OF_EACH}
        rows.append([sum(x.values()) / 10 for x in (small,)] + [sum(n * k for n, k in small.items()) / 10] +
                    [sum(after.values()) / 10, sum(n * k for n, k in after.items()) / 10])
    return [max(column) for column in zip(*rows)]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("way", nargs="+")
    parser.add_argument("--ranks", default="2,4,8,16,32,64")
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        (work / "counter.c").write_text(COUNTER)
        quiet(["mpicc.openmpi", "-shared", "-fPIC", "-o", "counter.so", "counter.c"], work)
        ferries = [way.split(":") for way in o.way]
        ferry = pathlib.Path(ferries[-1][0]).resolve()
        quiet([ferry, "sample", "text"], work)
        target, source = sorted((work / "text").glob("train.*"))
        quiet([ferry, "prepare", f"source={source}", f"target={target}", "out=data", "vocab_size=2496"], work)
        (work / "data" / "proposal.yaml").unlink(missing_ok=True)
        print("| ranks | program | small messages | small bytes | all messages | all bytes |\n|--:|---|--:|--:|--:|--:|")
        for n_ranks in map(int, o.ranks.split(",")):
            for path, *options in ferries:
                row = per_update(pathlib.Path(path).resolve(), options, n_ranks, work)
                print(f"| {n_ranks} | {' '.join([pathlib.Path(path).parent.name, *options])} | "
                      + " | ".join(f"{x:,.0f}" for x in row) + " |", flush=True)


if __name__ == "__main__":
    main()
