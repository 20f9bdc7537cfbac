"""The Transformer of torch_transformer.py on several ranks: DistributedDataParallel over gloo.

RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are in the environment, as torchrun leaves them.
Prints one line of JSON with the seconds of a step.
"""
import argparse, json, statistics, time
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch_transformer import SIZES, Transformer, batches


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--size", default="base", choices=SIZES)
    a.add_argument("--tokens", type=int, default=2048)
    a.add_argument("--steps", type=int, default=6)
    a.add_argument("--mean", type=int, default=28)
    o = a.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    model = Transformer(*SIZES[o.size])
    step = DistributedDataParallel(model)
    opt = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.997), eps=1e-9, fused=True)
    times = []
    for s, ti, to, _ in batches(SIZES[o.size][4], o.tokens, o.steps + 2, 7 + dist.get_rank(), o.mean):
        t0 = time.perf_counter()
        step(s, ti, to).backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
        times.append(time.perf_counter() - t0)
    print(json.dumps(dict(peer="torch ddp " + torch.__version__, size=o.size, ranks=dist.get_world_size(),
                          s_per_step=round(statistics.median(times[2:]), 3))))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
