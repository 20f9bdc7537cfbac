#!/usr/bin/env python3
"""Real TensorBoard's plugins read the texts, histograms and options of a run of ours.

    tensorboard_plugins.py RUN LAST_STEP

They are read through its data provider, as its pages read them, and compared with run.jsonl:
the samples of each evaluation, the options of its first start, the norms of layers against
the global norm. No curve has two points of a step, and none lies beyond LAST_STEP.
"""
import collections
import html
import json
import math
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
from tensorboard import context
from tensorboard.backend.event_processing import data_provider, event_accumulator, plugin_event_multiplexer
from tensorboard.data import server_ingester
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, get_experiment, list_session_groups
from tensorboard.plugins.text import text_plugin
from tensorboard.util import grpc_util, tensor_util

ALL = {"scalars": 0, "tensors": 0, "histograms": 0}


def check(ok, what):
    if not ok:
        sys.exit(f"FAILED: {what}")


def open_board(run):
    mux = plugin_event_multiplexer.EventMultiplexer(
        tensor_size_guidance={name: 0 for name in ("scalars", "text", "histograms", "hparams")})
    mux.AddRunsFromDirectory(run)
    mux.Reload()
    provider = data_provider.MultiplexerDataProvider(mux, run)
    return base_plugin.TBContext(data_provider=provider, logdir=run, multiplexer=mux)


def steps_of(provider):
    """The steps of every curve, as the pages get them."""
    ask, want = context.RequestContext(), {}
    for plugin in ("scalars", "histograms", "text", "hparams"):
        kind = "scalars" if plugin == "scalars" else "tensors"
        read = getattr(provider, f"read_{kind}")(ask, experiment_id="", plugin_name=plugin, downsample=10000)
        want |= {tag: [point.step for point in points] for tag, points in read.get(".", {}).items()}
    return want


def check_points(board, run, last):
    """The Python reader, the data server in Rust and the old accumulator: each step once, in order."""
    now = steps_of(board.data_provider)
    for tag, steps in now.items():
        check(steps == sorted(set(steps)) and steps[-1] <= last, f"{tag} has the steps {steps}")
    readers = "one reader"
    try:
        binary = server_ingester.get_server_binary()
    except server_ingester.NoDataServerError:
        binary = None
    if binary:
        server = server_ingester.SubprocessServerDataIngester(
            binary, run, reload_interval=0, channel_creds_type=grpc_util.ChannelCredsType.LOCAL,
            samples_per_plugin={name: 0 for name in ("scalars", "histograms", "text", "hparams")})
        server.start()
        for _ in range(100):  # it loads while it serves
            fast = steps_of(server.data_provider) if server.data_provider.list_runs(
                context.RequestContext(), experiment_id="") else {}
            if fast == now:
                break
            time.sleep(0.1)
        check(fast == now, f"the data server differs: {fast}\n{now}")
        readers = "both readers"
    old = event_accumulator.EventAccumulator(run, size_guidance=ALL)
    old.Reload()  # of tensors it keeps what a restart has made void
    curves = {tag: [e.step for e in old.Scalars(tag)] for tag in old.Tags()["scalars"]}
    curves |= {tag: [e.step for e in old.Histograms(tag)] for tag in old.Tags()["histograms"]}
    check(all(now[tag] == steps for tag, steps in curves.items()), f"the old reader differs: {curves}")
    print(f"{len(now)} tags have each step once for {readers}")
    return old


def check_gradients(old):
    """Squares of the layers' norms add up; a histogram has the norm and all its elements."""
    norms = collections.defaultdict(float)
    layers = [tag.split("/")[1] for tag in old.Tags()["histograms"]]
    check(layers, "there is no histogram")
    for layer in layers:
        points = list(zip(old.Scalars(f"gradient_norm/{layer}"), old.Histograms(f"gradients/{layer}")))
        check(points, f"gradient_norm/{layer} has no point")
        for norm, spread in points:
            h = spread.histogram_value
            check(norm.step == spread.step and sum(h.bucket) == h.num, f"{layer}: {h.num} elements")
            check(math.isclose(math.sqrt(h.sum_squares), norm.value, rel_tol=1e-5), f"{layer}: norms differ")
            check(h.bucket_limit[-1] >= h.max and h.min <= h.max, f"{layer}: ends {h.min} and {h.max}")
            norms[norm.step] += norm.value ** 2
    want = {e.step: e.value for e in old.Scalars("Loss_Optimization/global_gradient_norm")}
    for step, square in norms.items():
        check(math.isclose(math.sqrt(square), want[step], rel_tol=1e-5), f"step {step}: {math.sqrt(square)}")
    print(f"{len(layers)} layers' norms add up at {len(norms)} steps")


def check_texts(board, log, last):
    """The page's table of each evaluation holds the samples of the log."""
    plugin = text_plugin.TextPlugin(board)
    pages = {page["step"]: page["text"] for page in
             plugin.text_impl(context.RequestContext(), ".", "translations", "", enable_markdown=True)}
    samples = {}
    for e in log:
        if e["event"] == "start":
            samples = {step: rows for step, rows in samples.items() if step <= e["step"]}
        elif e["event"] == "sample":
            samples.setdefault(e["step"], []).append((e["source"], e["reference"], e["translation"]))
    check(set(pages) == set(samples), f"texts at {sorted(pages)}, samples at {sorted(samples)}")
    for step, rows in samples.items():
        shown = html.unescape(pages[step])
        for cell in (c for row in rows for c in row):
            check(f"<td>{' '.join(cell.split())}</td>" in " ".join(shown.split()), f"step {step} lacks {cell!r}")
    print(f"{sum(map(len, samples.values()))} samples of {len(samples)} evaluations are on the page")


REFERENCE = {"norm": "pre", "activation": "relu", "gated": False, "attention_bias": False, "output_bias": False,
             "tables": "one", "source_vocab_size": 0, "positions": "reference", "max_positions": 512,
             "embed_scale": True, "decoder_start": -1, "sentence_begin": True, "says_unknown": True,
             "unique_encoder_layers": 0, "unique_decoder_layers": 0, "layer_order": "cycle"}


def check_options(board, log):
    """The run's row in the table of runs."""
    start = next(e for e in log if e["event"] == "start")
    table = backend_context.Context(board)
    ask = context.RequestContext()
    found = get_experiment.Handler(ask, table, "", api_pb2.GetExperimentRequest()).run()
    metrics = {m.name.tag for m in found.metric_infos}
    check({"valid_loss", "BLEU"} <= metrics, f"metrics are {metrics}")
    request = api_pb2.ListSessionGroupsRequest(start_index=0, slice_size=9, allowed_statuses=[0, 1, 2, 3],
                                               col_params=[api_pb2.ColParams(hparam=h.name) for h in found.hparam_infos])
    groups = list_session_groups.Handler(ask, table, "", request).run().session_groups
    check(len(groups) == 1 and groups[0].sessions[0].status == api_pb2.STATUS_SUCCESS, f"sessions: {groups}")
    row = {name: getattr(v, v.WhichOneof("kind")) for name, v in groups[0].hparams.items()}
    # a run of the reference's architecture has that in the table alone
    architecture = {name: row[name] for name in set(row) - set(start["config"])}
    check(row == start["config"] | architecture, f"options differ: {row}, {start['config']}")
    check(architecture == REFERENCE, f"not the reference: {architecture}")
    tensor = board.multiplexer.Tensors(".", "configuration")[0].tensor_proto
    text = tensor_util.make_ndarray(tensor).item().decode().replace("\\_", "_")
    for name in start["config"]:
        check(f"| {name} | " in text, f"the text lacks {name}")
    print(f"{len(row)} options are in the table of runs")


def main():
    run, last = sys.argv[1], int(sys.argv[2])
    log = [json.loads(line) for line in open(f"{run}/run.jsonl")]
    board = open_board(run)
    check_gradients(check_points(board, run, last))
    check_texts(board, log, last)
    check_options(board, log)


main()
