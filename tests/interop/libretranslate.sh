# LibreTranslate's own tests of its interface, as they are in its source package, asked of ferry serve.
"$PYTHON" -c 'import pytest, requests' 2>/dev/null || skip "pytest or requests is not installed"
"$PYTHON" -m pip download --quiet --no-deps --no-binary libretranslate libretranslate==1.9.6 >/dev/null 2>&1 ||
    skip "the source of LibreTranslate cannot be had here"
tar xf libretranslate-1.9.6.tar.gz
mkdir suite
cp libretranslate-1.9.6/libretranslate/tests/test_api/test_api_*.py suite
cp "$ROOT/tests/interop/libretranslate_suite.py" suite/conftest.py
export FERRY ROOT
expect 0 "$PYTHON" -m pytest -q -p no:cacheprovider suite
out_has '14 passed'
