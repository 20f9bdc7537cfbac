#!/usr/bin/env python3
"""Write tests/data/golden_plugins.tfevents: events of TensorBoard's plugins, by its own messages.

    make_golden_plugins.py tests/data

test_tb_event.c writes the same and compares every byte behind the first record.
"""
import pathlib
import sys

from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, types_pb2
from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2
from tensorboard.plugins.hparams import metadata as hparams
from tensorboard.plugins.text import metadata as text
from tensorboard.summary.writer.record_writer import RecordWriter

Value = summary_pb2.Summary.Value


def event(step, value):
    return event_pb2.Event(wall_time=1000.5 + step, step=step, summary=summary_pb2.Summary(value=[value]))


def text_value(tag, words):
    what = text.create_summary_metadata("", "")
    what.data_class = summary_pb2.DATA_CLASS_TENSOR
    tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=[words.encode()])
    tensor.tensor_shape.SetInParent()
    return Value(tag=tag, metadata=what, tensor=tensor)


def hparams_value(tag, **data):
    content = plugin_data_pb2.HParamsPluginData(version=hparams.PLUGIN_DATA_VERSION, **data)
    what = hparams.create_summary_metadata(content)
    what.plugin_data.content = content.SerializeToString(deterministic=True)  # a map in the order of its keys
    return Value(tag=tag, tensor=hparams.NULL_TENSOR, metadata=what)


def start():
    info = plugin_data_pb2.SessionStartInfo(start_time_secs=1001.5)
    info.hparams["data"].string_value = "corpora/de"
    info.hparams["learning_rate"].number_value = 0.25
    info.hparams["recompute"].bool_value = True
    return info


def main():
    with open(pathlib.Path(sys.argv[1]) / "golden_plugins.tfevents", "wb") as file:
        out = RecordWriter(file)
        end = plugin_data_pb2.SessionEndInfo(status=api_pb2.STATUS_SUCCESS, end_time_secs=1009.5)
        histogram = summary_pb2.HistogramProto(min=-1.5, max=0.5, num=4, sum=-1.25, sum_squares=2.75,
                                               bucket_limit=[-1.0, 0.0, 0.5, 1.0], bucket=[1, 0, 2, 1])
        for e in [event_pb2.Event(wall_time=1000.5, file_version="brain.Event:2"),
                  event(1, text_value("configuration", "| option | value |\n|---|---|\n| beam | 4 |\n")),
                  event(1, hparams_value(hparams.SESSION_START_INFO_TAG, session_start_info=start())),
                  event(7, Value(tag="gradients/encoder.0", histo=histogram)),
                  event(9, hparams_value(hparams.SESSION_END_INFO_TAG, session_end_info=end))]:
            out.write(e.SerializeToString(deterministic=True))


main()
