"""The fixtures of tests/e2e, with an emulated host in the place of a stack on this machine."""

import time

import pytest
from fixtures import label, shared_label  # noqa: F401
from host import EmulatedHost
from mcp_client import LEGACY, MODERN, McpClient


@pytest.fixture(scope="session")
def stack():
    with EmulatedHost() as running:
        yield running


@pytest.fixture
def host(stack):
    return stack


class PatientClient(McpClient):
    """A sandbox whose start takes a second elsewhere may take a minute here, and so may an agent that takes stock."""

    STOCK_SECONDS = 120

    def run(self, sandbox, command, wait_seconds=280, **arguments):
        deadline = time.monotonic() + self.STOCK_SECONDS
        while True:
            result = super().run(sandbox, command, wait_seconds=wait_seconds, **arguments)
            if not (result.is_error and "taking stock" in result.text) or time.monotonic() > deadline:
                return result
            time.sleep(1)  # As it asks.


@pytest.fixture
def alice(stack):
    with PatientClient(stack.url, stack.key, timeout=600) as client:
        yield client


@pytest.fixture(params=[LEGACY, MODERN])
def either_era(stack, request):
    with PatientClient(stack.url, stack.key, request.param, timeout=600) as client:
        yield client
