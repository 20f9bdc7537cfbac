"""usage: report_numbers.py RUN

Derives every number of RUN/report.json again, from run.jsonl and the directory listing, by
the definitions of docs/report.md and with nothing but the standard library. Prints how many
agreed; a number that differs ends it with a sentence.
"""
import json
import math
import os
import random
import sys

run = sys.argv[1]
lines = [json.loads(line) for line in open(f"{run}/run.jsonl", encoding="utf-8")]
report = json.load(open(f"{run}/report.json", encoding="utf-8"))
answers = report["runs"][0]["answers"]
agreed = 0


def check(question, key, want, rel=1e-6):
    global agreed
    got = answers[question]["values"].get(key, "not there")
    if want is None or got is None:
        same = want is got
    else:
        same = got != "not there" and abs(got - want) <= rel * max(abs(want), 1e-9) + 1e-12
    if not same:
        sys.exit(f"{question}.{key}: the report says {got}, run.jsonl says {want}")
    agreed += 1


def code(question, want):
    global agreed
    if answers[question]["code"] not in want:
        sys.exit(f"{question}: the report says {answers[question]['code']}, want {want}")
    agreed += 1


starts = [e for e in lines if e["event"] == "start"]
start = starts[-1]
steps, evals = [], []
session, t_last, idle = 0, None, 0.0
for e in lines:
    if e["event"] == "start":
        session += 1
        for old in steps + evals:
            old["lost"] = old.get("lost") or old["step"] > e["step"]
        if t_last is not None:
            idle += max(0, e["t"] - t_last)
    if e["event"] == "step":
        e["first"] = not any(s["session"] == session for s in steps)
        e["session"] = session
        steps.append(e)
    if e["event"] == "eval":
        evals.append(e)
    if e["event"] != "test":
        t_last = e["t"]
kept = [s for s in steps if not s.get("lost")]
valid = [e for e in evals if not e.get("lost")]
wall = t_last - lines[0]["t"]
last_step = kept[-1]["step"]

# 1. time
check("time", "steps", last_step)
check("time", "sessions", len(starts))
check("time", "steps_lost", sum(s["steps"] for s in steps if s.get("lost")))
check("time", "wall_s", wall)
check("time", "idle_s", idle)
check("time", "in_steps_s", sum(s["t_step"] for s in steps))
check("time", "in_evaluations_s", sum(e["seconds"] for e in evals))
check("time", "in_saves_s", sum(e["seconds"] for e in lines if e["event"] == "save"))
check("time", "seconds_a_step_with_everything", (wall - idle) / sum(s["steps"] for s in steps))

# 10. a step
without_first = [s for s in steps if not s["first"]]
used = without_first if len(without_first) >= 5 else steps
n = sum(s["steps"] for s in used)


def mean(key):
    return sum(s[key] for s in used) / n


def quantile(q):
    done, order = 0, sorted((s["t_step"] / s["steps"], s["steps"]) for s in used)
    for value, weight in order:
        done += weight
        if done >= q * n:
            return value
    return order[-1][0]


check("step", "mean_s", mean("t_step"))
check("step", "steps_per_s", 1 / mean("t_step"))
for q, key in ((0.5, "median_s"), (0.95, "p95_s"), (1, "slowest_s")):
    check("step", key, quantile(q))
for key, field in (("data_s", "t_data"), ("compute_s", "t_compute"), ("exposed_s", "t_comm"),
                   ("hidden_s", "t_hidden"), ("update_s", "t_update")):
    check("step", key, mean(field))
check("step", "other_s", max(0, mean("t_step") - sum(
    mean(f) for f in ("t_data", "t_compute", "t_comm", "t_update"))), 1e-4)
check("step", "steps_counted", n)
check("step", "steps_left_out", sum(s["steps"] for s in steps) - n)
check("step", "tokens_per_s", (mean("source_tokens") + mean("target_tokens")) / mean("t_step"))

# 4. busy
busy = (mean("t_compute") + mean("t_update")) / mean("t_step")
gflops = sum(s["gflops"] * s["t_step"] for s in used) / sum(s["t_step"] for s in used)
check("busy", "busy_share", busy)
check("busy", "gflops", gflops)
check("busy", "roof_gflops", start["roof_gflops"])
check("busy", "of_roof", gflops / start["roof_gflops"] if start["roof_gflops"] else None)
code("busy", ["busy" if busy >= 0.9 else "waiting"])

# 6. the rate
rates = [s for s in kept if s["rate"] is not None]
peak = max(rates, key=lambda s: s["rate"])
config = start["config"]
check("rate", "peak_rate", peak["rate"])
check("rate", "peak_step", min(s["step"] for s in rates if s["rate"] == peak["rate"]))
check("rate", "last_rate", rates[-1]["rate"])
if config["lr_policy"] == "transformer_policy" and not config.get("max_lr"):
    def formula(t):
        w = config["warmup_steps"]
        return (config["learning_rate"] * config.get("coefficient", 1) * config["d_model"] ** -0.5
                * min((t + 1) * w ** -1.5, (t + 1) ** -0.5))
    worst = max(abs(s["rate"] / formula(s["step"] - 1) - 1) for s in rates)
    if worst > 1e-6 or answers["rate"]["values"]["largest_difference"] > 1e-6:
        sys.exit(f"rate: logged and computed differ by {worst}")
    agreed += 1

# 7. data
for key, field in (("pairs", "train_pairs"), ("source_tokens", "train_source_tokens"),
                   ("target_tokens", "train_target_tokens")):
    check("data", key, start["data"].get(field))

# 8, 9. files
if answers["files"]["code"] != "missing":
    newest = max(int(f[11:-6]) for f in os.listdir(run)
                 if f.startswith("model.ckpt-") and f.endswith(".index"))
    files = [f for f in os.listdir(run) if f.startswith(f"model.ckpt-{newest}.")]
    size = {f: os.path.getsize(f"{run}/{f}") for f in files}
    check("files", "step", newest)
    check("files", "files", len(files))
    check("files", "bytes", sum(size.values()))
    data = size[f"model.ckpt-{newest}.data-00000-of-00001"]
    arrays = 4 if config.get("moving_average") else 3
    check("sizes", "bytes", data)
    check("sizes", "data_file_bytes", data)
    check("sizes", "weights_bytes", 4 * start["parameters"])
    check("sizes", "moments_bytes", 8 * start["parameters"])
    check("sizes", "counters_bytes", data - 4 * arrays * start["parameters"])
    code("sizes", ["exact"])

# 2, 3. learning
if valid:
    best = min(valid, key=lambda e: e["valid_loss"])
    check("trained", "best_loss", best["valid_loss"])
    check("trained", "best_loss_step", best["step"])
if len(valid) >= 4:
    since = valid[-2]["step"]
    window = [s for s in kept if since < s["step"] <= valid[-1]["step"]]
    train = (sum(s["loss"] * s["target_tokens"] for s in window)
             / sum(s["target_tokens"] for s in window))
    check("overfit", "gap", valid[-1]["valid_loss"] - train)


def shape(x, c, d):
    return (((x + d) / (1 + d)) ** -c - 1) / (((0.5 + d) / (1 + d)) ** -c - 1)


def draws(points, count=2000):
    """Of (gain at 1.1, 1.5, 2) from the posterior of the curve in docs/report.md."""
    last = points[-1][0]
    points = [p for p in points if p[0] >= 0.1 * last]
    m = len(points)
    grid = []
    for c, d in [(0.1 * 30 ** (k / 100), d) for k in range(101)
                 for d in (0, .01, .02, .035, .05, .075, .1, .15, .25, .5)]:
        u = [shape(s / last, c, d) for s, _ in points]
        y = [v for _, v in points]
        su, suu = sum(u), sum(x * x for x in u)
        sy, suy = sum(y), sum(a * b for a, b in zip(u, y))
        det = m * suu - su * su
        level, g = (suu * sy - su * suy) / det, (m * suy - su * sy) / det
        sse = sum((b - level - g * a) ** 2 for a, b in zip(u, y))
        grid.append((c, d, level, g, sse, suu / det, -su / det, m / det,
                     -0.5 * math.log(det) - (m - 4) / 2 * math.log(sse)))
    top = max(x[-1] for x in grid)
    weights = [math.exp(x[-1] - top) for x in grid]
    rng, out = random.Random(1), []
    while len(out) < count:
        c, d, level, g, sse, vmm, vmg, vgg, _ = rng.choices(grid, weights)[0]
        sigma = math.sqrt(sse / rng.gammavariate((m - 4) / 2, 2))
        a, b = rng.gauss(0, 1), rng.gauss(0, 1)
        r = vmg / math.sqrt(vmm)
        lv = level + sigma * math.sqrt(vmm) * a
        gg = g + sigma * (r * a + math.sqrt(max(0, vgg - r * r)) * b)
        if lv + gg * shape(1e9, c, d) < 0:
            continue
        out.append([-gg * shape(k, c, d) for k in (1.1, 1.5, 2)])
    return out


if len(valid) >= 5:
    sample = draws([(e["step"], e["valid_loss"]) for e in valid if e["step"] > 0])
    for i, name in enumerate(("10", "50", "100")):
        column = sorted(d[i] for d in sample)
        low, mid, high = (column[int(q * len(column))] for q in (0.025, 0.5, 0.975))
        slack = 0.25 * (high - low)
        for key, want in ((f"loss_gain_{name}", mid), (f"loss_gain_{name}_low", low),
                          (f"loss_gain_{name}_high", high)):
            got = answers["trained"]["values"][key]
            if abs(got - want) > slack:
                sys.exit(f"trained.{key}: {got}, another sampler says {want} +- {slack}")
            agreed += 1

# 5, 11. the network
laps = [e for e in lines if e["event"] == "ranks"]
if start.get("ranks", 1) > 1 and start.get("nodes") != 1 and laps:
    covered = {s["step"]: s for s in steps}
    good = [e for e in laps if not covered[e["step"]].get("lost")
            and not covered[e["step"]]["first"]]
    updates = sum(covered[e["step"]]["steps"] for e in good)

    def of_rank(r, key):
        return sum(x[key] for e in good for x in e["ranks"] if x["rank"] == r) / updates

    ranks = range(start["ranks"])
    exposed = min(of_rank(r, "t_comm") for r in ranks)
    straggling = sum(of_rank(r, "t_comm") for r in ranks) / len(ranks) - exposed

    def card(r, way):
        return sum(max(c[way] for c in x["cards"].values()) for e in good for x in e["ranks"]
                   if x["rank"] == r and "cards" in x) / updates

    sent = max(card(r, "sent") for r in ranks)
    t, hidden = mean("t_step"), mean("t_hidden")
    capacity = max(1e6 * start["network"]["mb_per_s"], sent / t)
    wire = min(sent / capacity, exposed + hidden)
    more = wire
    if exposed <= 0.02 * t:
        more = max(0, wire - max(0, 2 / 3 * mean("t_compute") - hidden))
    elasticity = math.log2(1 + more / t)
    for key, want in (("step_s", t), ("exposed_s", exposed), ("exposed_share", exposed / t),
                      ("hidden_s", hidden), ("waiting_for_ranks_s", straggling),
                      ("sent_bytes_per_card_per_step", sent), ("mb_per_s", sent / t / 1e6),
                      ("mbit_per_s", 8 * sent / t / 1e6), ("duty", sent / t / capacity),
                      ("capacity_mb_per_s", capacity / 1e6), ("elasticity", elasticity),
                      ("step_on_twice_the_link_s", t - min(exposed, wire / 2))):
        check("network", key, want)
    x = [s["t_comm"] / s["steps"] for s in kept if not s["first"]]
    y = [s["t_step"] / s["steps"] for s in kept if not s["first"]]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    check("follows", "correlation", sum((a - mx) * (b - my) for a, b in zip(x, y)) / math.sqrt(
        sum((a - mx) ** 2 for a in x) * sum((b - my) ** 2 for b in y)), 1e-5)
    slowest = max(ranks, key=lambda r: of_rank(r, "t_step") - of_rank(r, "t_comm"))
    check("follows", "slowest_rank", slowest)
print(agreed, "numbers agree")
