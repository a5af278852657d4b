"""The fixtures of tests/e2e, with an emulated host in the place of a stack on this machine."""

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
    """A sandbox whose start takes a second elsewhere may take a minute here."""

    def run(self, sandbox, command, wait_seconds=280, **arguments):
        return super().run(sandbox, command, wait_seconds=wait_seconds, **arguments)


@pytest.fixture
def alice(stack):
    with PatientClient(stack.url, stack.key, timeout=600) as client:
        yield client


@pytest.fixture(params=[LEGACY, MODERN])
def either_era(stack, request):
    with PatientClient(stack.url, stack.key, request.param, timeout=600) as client:
        yield client
