"""usage: console_numbers.py LOG REPORT.json: derives what the report says of a console log.

Reads the lines a second time, by other means than the program, and fails when a number of
the report is not what follows from them.
"""
import gzip, json, lzma, math, re, statistics, sys

LOSS = re.compile(r"lobal step (\d+):.*?loss[:=] *([\d.]+)")
TIME = re.compile(r"time per step = (\d+):(\d+):([\d.]+)")


def lines(path):
    opener = {"gz": gzip.open, "xz": lzma.open}.get(path.rsplit(".", 1)[-1], open)
    with opener(path, "rt", encoding="utf-8", errors="replace") as file:
        yield from file


def read(path):
    run = {"prints": [], "evals": [], "ranks": 0, "config": {}, "finished": False}
    waiting, in_config = [], False
    for line in lines(path):
        if "Source[0]:" in line or "Target[0]:" in line or "Prediction[0]:" in line:
            continue
        if "Training config:" in line:
            in_config = True
        elif line.startswith("***"):
            in_config = False
        if in_config:
            for key, value in re.findall(r"'(\w+)': '?([^,'{}]+)", line):
                run["config"].setdefault(key, value)
        if hit := re.search(r"Horovod rank: (\d+)", line):
            run["ranks"] = max(run["ranks"], int(hit[1]) + 1)
        if hit := re.search(r"trainable parameters: (\d+)", line):
            run["parameters"] = int(hit[1])
        if hit := re.search(r"Validation loss: ([\d.]+)", line):
            waiting.append([float(hit[1]), math.nan])
        if hit := re.search(r"BLUE score: ([\d.]+)", line):
            waiting[-1][1] = float(hit[1])
        if hit := LOSS.search(line):
            run["prints"].append([int(hit[1]), float(hit[2]), math.nan])
            every = int(run["config"].get("eval_steps", 0)) or 1
            before = run["prints"][-2][0] if len(run["prints"]) > 1 else -1
            for i, (loss, bleu) in enumerate(waiting):
                step = (before // every + 1 + i) * every
                run["evals"].append((min(step, int(hit[1])), loss, bleu))
            waiting = []
        if hit := TIME.search(line):
            run["prints"][-1][2] = 3600 * int(hit[1]) + 60 * int(hit[2]) + float(hit[3])
        run["finished"] |= "Finished training" in line
    return run


def gap_at(prints, step, loss):
    """Validation minus training loss: a weighted line over log(step) around it."""
    reach = max(step / 8, sorted(abs(s - step) for s, _, _ in prints)[min(7, len(prints) - 1)])
    near = [(math.log(max(s, 0.5) / step), y, w) for (s, y, _), w in
            zip(prints, [1] + [100] * len(prints)) if abs(s - step) <= reach]
    w, x, y = (sum(k) for k in zip(*((w, w * u, w * v) for u, v, w in near)))
    xx, xy = sum(w_ * u * u for u, _, w_ in near), sum(w_ * u * v for u, v, w_ in near)
    return loss - (xx * y - x * xy) / (w * xx - x * x)


def main(log, report):
    run = read(log)
    answers = json.load(open(report))["runs"][0]["answers"]
    every = int(run["config"]["print_loss_steps"])
    prints, evals = run["prints"], run["evals"]
    n = {"checked": 0}

    def same(question, key, want, within=1e-6):
        got = answers[question]["values"][key]
        n["checked"] += 1
        if got is None or abs(got - want) > within * max(1, abs(want)):
            sys.exit(f"{question}: {key} is {got}, the log gives {want}")

    walls = [every * t for _, _, t in prints]
    held = {i for i, (s, _, _) in enumerate(prints) if i and
            any(s - every < e <= s for e, _, _ in evals)}
    plain = [walls[i] for i in range(1, len(prints)) if i not in held]
    median = sorted(plain)[len(plain) // 2]
    cost = sum(max(0, walls[i] - median) for i in held)
    wall = sum(walls)
    last = int(run["config"]["max_steps"]) if run["finished"] else prints[-1][0]
    same("time", "wall_s", wall)
    same("time", "startup_s", walls[0])
    same("time", "steps", last)
    same("time", "in_evaluations_s", cost)
    same("time", "in_steps_s", sum(walls[1:]) - cost)
    taken = every * (len(prints) - 1) + 1
    same("time", "seconds_a_step_with_everything", (wall - walls[0]) / taken)
    if not run["finished"]:
        same("time", "remaining_s",
             (wall - walls[0]) / taken * (int(run["config"]["max_steps"]) - last))
    mean = sum(plain) / len(plain) / every
    same("step", "mean_s", mean)
    same("step", "steps_per_s", 1 / mean)
    same("step", "median_s", statistics.median_low(plain) / every, 2e-3)
    same("step", "p95_s", sorted(plain)[math.ceil(0.95 * len(plain)) - 1] / every, 2e-3)
    same("step", "slowest_s", max(plain) / every)
    same("step", "steps_counted", every * len(plain))
    trained = [e for e in evals if e[0] > 0]
    best = min(evals, key=lambda e: e[1])
    same("trained", "best_loss", best[1])
    same("trained", "best_loss_step", best[0])
    top = max(trained, key=lambda e: e[2])
    same("trained", "best_bleu", 100 * top[2])
    same("trained", "last_bleu", 100 * trained[-1][2])
    same("overfit", "gap", gap_at(prints, trained[-1][0], trained[-1][1]), 1e-4)
    d, factor, warmup = (float(run["config"][k]) for k in
                         ("d_model", "learning_rate", "warmup_steps"))
    rate = lambda t: factor * d ** -0.5 * min((t + 1) * warmup ** -1.5, (t + 1) ** -0.5)
    same("rate", "last_rate", rate(last))
    same("rate", "peak_rate", max(rate(min(last, warmup)), rate(last)))
    ring = 2 * (run["ranks"] - 1) / run["ranks"] * 4 * run["parameters"]
    same("network", "sent_bytes_per_card_per_step", ring)
    same("network", "mb_per_s", ring / mean / 1e6)
    same("network", "mbit_per_s", 8 * ring / mean / 1e6)
    same("network", "exposed_share", 1 - answers["network"]["values"]["alone_s"] / mean)
    same("busy", "busy_share", answers["network"]["values"]["alone_s"] / mean)
    pairs = int(run["config"]["batch_size_per_gpu"]) * run["ranks"]
    same("data", "pairs_seen", pairs * last)
    same("sizes", "bytes", (14 if run["config"]["dtype"] == "mixed" else 12) * run["parameters"])
    print(f"{n['checked']} numbers of {report} follow from {log}")


main(*sys.argv[1:])
