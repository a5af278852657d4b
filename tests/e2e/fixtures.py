"""Fixtures of every suite that needs a live stack."""

import secrets

import pytest
from mcp_client import LEGACY, MODERN, McpClient
from stack import Stack


@pytest.fixture(scope="session")
def stack():
    with Stack() as running:
        yield running


@pytest.fixture
def alice(stack):
    with McpClient(stack.url, stack.key) as client:
        yield client


@pytest.fixture
def bob(stack):
    with McpClient(stack.url, stack.key2) as client:
        yield client


@pytest.fixture(params=[LEGACY, MODERN])
def either_era(stack, request):
    with McpClient(stack.url, stack.key, request.param) as client:
        yield client


@pytest.fixture
def label():
    """A label that no other test uses."""
    return f"test-{secrets.token_hex(4)}"


@pytest.fixture(scope="session")
def shared_label():
    """One sandbox for the tests that only run commands: a new one each would cost a start each."""
    return f"shared-{secrets.token_hex(4)}"
