"""Translation with models of the Ferry toolkit: ctypes over libferry (docs/library.md).

    import ferry
    with ferry.Model("demo.ferry") as model:
        print(model.translate("Die Fähre wartet.").text)

Any number of threads may use a model at the same time; their texts join the same batches.
The library is looked for in FERRY_LIBRARY, beside this file (or in lib there), and where the system looks.
"""
from __future__ import annotations

import ctypes
import os
import pathlib
from typing import List, NamedTuple, Optional, Sequence, Tuple

__all__ = ["Cancel", "Error", "Link", "Model", "Translation", "version"]

CANCELLED = 10  # the status of what was cancelled


class Error(Exception):
    """What failed, in one sentence; status is one of ferry.h's."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Link(NamedTuple):
    """Characters of a text and of its translation that belong together."""

    source: Tuple[int, int]
    target: Tuple[int, int]


class Translation(NamedTuple):
    text: str
    score: float
    links: List[Link]


class _Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("text", ctypes.c_char * 1024)]


class _OpenOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_uint),
                ("checkpoint", ctypes.c_char_p), ("no_shortlist", ctypes.c_int),
                ("reserved", ctypes.c_int)]


class _Flag(ctypes.Structure):
    _fields_ = [("is_cancelled", ctypes.c_ubyte)]


class _TranslateOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("beam", ctypes.c_int), ("nbest", ctypes.c_int),
                ("greedy", ctypes.c_int), ("alpha", ctypes.c_double),
                ("max_length", ctypes.c_int), ("alignments", ctypes.c_int),
                ("forbid", ctypes.c_char_p), ("require", ctypes.c_char_p),
                ("cancel", ctypes.POINTER(_Flag))]


class _Link(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t)
                for name in ("source_begin", "source_end", "target_begin", "target_end")]


def _load() -> ctypes.CDLL:
    here = pathlib.Path(__file__).resolve().parent
    # of a wheel; of `make install`, where this is lib/python3.11/site-packages/ferry or the like
    places = (here, here / "lib", *(p / lib for p in tuple(here.parents)[3:4] for lib in ("lib", "lib64")))
    beside = [str(p / "libferry.so.0") for p in places if (p / "libferry.so.0").exists()]
    lib = ctypes.CDLL(os.environ.get("FERRY_LIBRARY") or (beside + ["libferry.so.0"])[0])
    pointer, size, text = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
    texts, error = ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(_Error)
    for name, result, arguments in (
            ("version", text, []),
            ("open", ctypes.c_int, [ctypes.POINTER(pointer), text, ctypes.POINTER(_OpenOptions), error]),
            ("close", None, [pointer]),
            ("source_language", text, [pointer]),
            ("target_language", text, [pointer]),
            ("cancel", None, [ctypes.POINTER(_Flag)]),
            ("translate_many", ctypes.c_int, [pointer, texts, size, ctypes.POINTER(_TranslateOptions),
                                              ctypes.POINTER(pointer), error]),
            ("result_count", size, [pointer, size]),
            ("result_text", text, [pointer, size, size]),
            ("result_score", ctypes.c_double, [pointer, size, size]),
            ("result_links", size, [pointer, size, size, ctypes.POINTER(ctypes.POINTER(_Link))]),
            ("result_free", None, [pointer]),
            ("score", ctypes.c_int, [pointer, texts, texts, size, ctypes.POINTER(ctypes.c_double),
                                     ctypes.POINTER(size), error])):
        function = getattr(lib, "ferry_" + name)
        function.restype, function.argtypes = result, arguments
    return lib


_lib = _load()


def _check(status: int, error: _Error) -> None:
    if status:
        raise Error(status, error.text.decode("utf-8", "replace"))


def _bytes(text: str) -> bytes:
    if "\0" in text:
        raise ValueError("a text holds a NUL character")
    return text.encode("utf-8", "replace")


def _array(texts: Sequence[str]) -> "ctypes.Array[ctypes.c_char_p]":
    return (ctypes.c_char_p * len(texts))(*map(_bytes, texts))


def _path(path: "Optional[str | os.PathLike[str]]") -> Optional[bytes]:
    return None if path is None else os.fsencode(path)


def version() -> str:
    return _lib.ferry_version().decode()


class Cancel:
    """Given to translations, ends them soon after cancel(), from any thread."""

    def __init__(self) -> None:
        self._flag = _Flag()

    def cancel(self) -> None:
        _lib.ferry_cancel(ctypes.byref(self._flag))


class Model:
    """A packed model, or the directory of a run. Close it when no call is under way."""

    def __init__(self, path: "str | os.PathLike[str]", threads: int = 0,
                 checkpoint: Optional[str] = None, shortlist: bool = True) -> None:
        self._model = ctypes.c_void_p()
        error = _Error()
        options = _OpenOptions(ctypes.sizeof(_OpenOptions), threads,
                               None if checkpoint is None else checkpoint.encode(), not shortlist)
        _check(_lib.ferry_open(ctypes.byref(self._model), os.fsencode(path),
                               ctypes.byref(options), ctypes.byref(error)), error)

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        _lib.ferry_close(self._model)
        self._model = ctypes.c_void_p()

    def _open(self) -> ctypes.c_void_p:
        if not self._model:
            raise ValueError("the model is closed")
        return self._model

    @property
    def source_language(self) -> str:
        return _lib.ferry_source_language(self._open()).decode()

    @property
    def target_language(self) -> str:
        return _lib.ferry_target_language(self._open()).decode()

    def translate(self, text: str, **options: object) -> Translation:
        """The best translation of a text; options as translate_many() takes them."""
        return self.translate_many([text], **options)[0][0]  # type: ignore[arg-type]

    def translate_many(self, texts: Sequence[str], *, beam: int = 4, nbest: int = 1,
                       greedy: bool = False, alpha: float = 0.6, max_length: int = 256,
                       alignments: bool = False,
                       forbid: "Optional[str | os.PathLike[str]]" = None,
                       require: "Optional[str | os.PathLike[str]]" = None,
                       cancel: Optional[Cancel] = None) -> List[List[Translation]]:
        """Up to nbest translations of each text, best first."""
        o = _TranslateOptions(ctypes.sizeof(_TranslateOptions), beam, nbest, greedy, alpha,
                              max_length, alignments, _path(forbid), _path(require),
                              ctypes.pointer(cancel._flag) if cancel else None)
        error, result, given = _Error(), ctypes.c_void_p(), _array(texts)
        _check(_lib.ferry_translate_many(self._open(), given, len(texts), ctypes.byref(o),
                                         ctypes.byref(result), ctypes.byref(error)), error)
        try:
            return [[_translation(result, i, rank, given[i])
                     for rank in range(_lib.ferry_result_count(result, i))]
                    for i in range(len(texts))]
        finally:
            _lib.ferry_result_free(result)

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> List[Tuple[float, int]]:
        """log P of each target given its source, and its number of tokens."""
        if len(sources) != len(targets):
            raise ValueError("as many sources as targets are needed")
        n, error = len(sources), _Error()
        log_prob, tokens = (ctypes.c_double * n)(), (ctypes.c_size_t * n)()
        _check(_lib.ferry_score(self._open(), _array(sources), _array(targets), n, log_prob,
                                tokens, ctypes.byref(error)), error)
        return list(zip(log_prob, tokens))


def _translation(result: ctypes.c_void_p, i: int, rank: int, source: bytes) -> Translation:
    text: bytes = _lib.ferry_result_text(result, i, rank)
    found = ctypes.POINTER(_Link)()
    n = _lib.ferry_result_links(result, i, rank, ctypes.byref(found))

    def characters(of: bytes, begin: int, end: int) -> Tuple[int, int]:
        first = len(of[:begin].decode("utf-8", "replace"))
        return first, first + len(of[begin:end].decode("utf-8", "replace"))

    links = [Link(characters(source, found[k].source_begin, found[k].source_end),
                  characters(text, found[k].target_begin, found[k].target_end)) for k in range(n)]
    return Translation(text.decode("utf-8", "replace"), _lib.ferry_result_score(result, i, rank), links)
