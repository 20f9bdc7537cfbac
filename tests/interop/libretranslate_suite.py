"""The fixtures of LibreTranslate's tests: a client of a server of `ferry serve` instead of its own application. The
model is told to translate en to es, which these tests ask for."""
import os
import sys

import pytest
import requests

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests", "cli"))
from serving import WAIT, Server


class Answer:
    def __init__(self, response):
        self.status_code, self.data, self._response = response.status_code, response.content, response

    @property
    def json(self):
        return self._response.json()


class Client:
    def __init__(self, port):
        self.address = f"http://127.0.0.1:{port}"

    def get(self, path, **values):
        return Answer(requests.get(self.address + path, timeout=WAIT, **values))

    def post(self, path, **values):
        return Answer(requests.post(self.address + path, timeout=WAIT, **values))


@pytest.fixture(scope="session")
def client():
    with Server(os.environ["FERRY"], os.path.join(os.environ["ROOT"], "tests/data/model.ferry:en-es")) as server:
        yield Client(server.port)
