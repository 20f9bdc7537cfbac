"""LibreTranslate as it is installed where this Python is, serving one model of CTranslate2: the peer that
`ferry serve` is measured against.

It cuts texts into sentences by a model that it would download; here a text is one sentence, so that less is done.
The model is one of `ferry export to=ctranslate2`, whose translations begin with <s>.
usage: libretranslate_serve.py PORT THREADS CT2_DIR SENTENCEPIECE SOURCE TARGET
"""
import json
import os
import pathlib
import shutil
import sys
import tempfile


def install(directory, model, pieces, source, target):
    """What a package of Argos Translate is once it was unpacked."""
    package = pathlib.Path(directory) / f"translate-{source}_{target}-1_0"
    package.mkdir()
    shutil.copytree(model, package / "model")
    shutil.copy(pieces, package / "sentencepiece.model")
    (package / "metadata.json").write_text(json.dumps(
        {"package_version": "1.0", "argos_version": "1.9", "from_code": source, "from_name": source,
         "to_code": target, "to_name": target, "target_prefix": "<s>"}), encoding="utf-8")


def main():
    port, threads, model, pieces, source, target = sys.argv[1:]
    with tempfile.TemporaryDirectory() as home:
        packages = pathlib.Path(home) / "packages"
        packages.mkdir()
        install(packages, model, pieces, source, target)
        os.chdir(home)
        os.environ.update(HOME=home, XDG_DATA_HOME=home, XDG_CONFIG_HOME=home, XDG_CACHE_HOME=home,
                          ARGOS_PACKAGES_DIR=str(packages), ARGOS_COMPUTE_TYPE="int8")
        from argostranslate import sbd
        from libretranslate import init
        from libretranslate.main import main as run
        sbd.MiniSBDSentencizer.split_sentences = lambda self, text: [text]
        init.check_and_install_models = lambda **_: None
        sys.argv = ["libretranslate", "--host", "127.0.0.1", "--port", port, "--threads", threads, "--disable-web-ui",
                    "--disable-files-translation"]
        run()


if __name__ == "__main__":
    main()
