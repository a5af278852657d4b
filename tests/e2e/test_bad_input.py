"""Everything wrong that can be sent gets one clear answer and breaks nothing."""

import json

import pytest
from mcp_client import LEGACY, MODERN, McpClient


def rpc(method="tools/list", params=None, identifier=1):
    return json.dumps({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params or {}})


@pytest.fixture(autouse=True)
def still_serving(alice):
    yield
    assert alice.request("tools/list")["result"]["tools"]


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer wrong", "Basic abc", "Bearer " + "x" * 4000])
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_no_or_a_wrong_key_is_401_with_a_challenge(alice, authorization, method):
    headers = {} if authorization is None else {"Authorization": authorization}
    answer = alice.send(method, "/mcp", rpc() if method == "POST" else None, headers)
    assert answer.status == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert b'"id"' not in answer.body


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example.com"}, {"Origin": "null"}, {"Host": "evil.example.com"},
                                     {"Origin": "http://127.0.0.1.evil.example.com"}])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/healthz", "/dl/x"])
def test_a_foreign_origin_or_host_is_403(alice, headers, path):
    assert alice.post(rpc(), headers, path).status == 403


def test_our_own_origin_is_welcome(stack, alice):
    assert alice.post(rpc(), {"Origin": f"http://127.0.0.1:{stack.port}"}).status == 200


def test_both_spellings_of_the_endpoint_work(alice):
    for path in ("/mcp", "/mcp/"):
        assert alice.post(rpc(), path=path).status == 200


def test_get_and_delete_are_405(alice):
    for method in ("GET", "DELETE"):
        assert alice.send(method, "/mcp", headers={"Authorization": f"Bearer {alice.key}"}).status == 405


def test_a_body_over_the_limit_is_413(alice):
    answer = alice.post(b"x", {"Content-Length": str(64 << 20)})
    assert answer.status == 413
    alice.close()


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"nonsense", b'{"jsonrpc":"2.0"}', b"\xff\xfe", b'"\xff"',
                                  b"\xef\xbb\xbf{}", b"[" * 100, b'{"a":' * 40 + b"1" + b"}" * 40, b"1", b"null",
                                  b'{"jsonrpc":"1.0","id":1,"method":"ping"}', b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
                                  b'{"jsonrpc":"2.0","id":1,"method":7}', b'{"jsonrpc":"2.0","id":1,"method":"ping","params":7}',
                                  b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', rpc().encode() + b"x"])
def test_what_is_no_request_is_400(alice, body):
    answer = alice.post(body)
    assert answer.status == 400, (answer.status, answer.body)
    assert answer.message["error"]["code"] in (-32700, -32600, -32602)


def test_a_batch_with_a_modern_element_is_refused(alice):
    modern = {"jsonrpc": "2.0", "id": 1, "method": "tools/list",
              "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}}}
    assert alice.post(json.dumps([modern])).status == 400


@pytest.mark.parametrize("identifier", [0, -1, "a", "ü", 2**53, ""])
def test_ids_are_echoed_as_they_came(alice, identifier):
    assert alice.post(rpc(identifier=identifier)).message["id"] == identifier


def test_an_unknown_tool_is_an_error_of_the_protocol(alice):
    assert alice.request("tools/call", {"name": "no_such_tool"})["error"]["code"] == -32602


def test_an_unknown_method_is_404_when_modern_and_in_band_when_legacy(stack, alice):
    assert alice.request("no/such")["error"]["code"] == -32601
    with McpClient(stack.url, stack.key, MODERN) as modern:
        assert modern.request("ping")["error"]["code"] == -32601, "ping is gone in 2026-07-28"


@pytest.mark.parametrize("arguments", [{}, {"sandbox": 7, "command": "true"}, {"sandbox": "a1", "command": ["true"]},
                                       {"sandbox": "a1"}, {"sandbox": "a1", "command": "true", "timeout_seconds": "soon"},
                                       {"sandbox": "a1", "command": "true", "timeout_seconds": -5},
                                       {"sandbox": "a1", "command": ""}])
def test_wrong_arguments_are_tool_errors_that_say_what_to_do(alice, arguments):
    result = alice.call("run_command", **arguments)
    assert result.is_error and len(result.text) > 20, result


def test_a_wrong_version_is_named(stack):
    with McpClient(stack.url, stack.key, MODERN) as client:
        meta = {"io.modelcontextprotocol/protocolVersion": "2099-01-01", "io.modelcontextprotocol/clientCapabilities": {}}
        answer = client.post(rpc(params={"_meta": meta}), {"MCP-Protocol-Version": "2099-01-01", "Mcp-Method": "tools/list"})
        assert answer.status == 400
        assert answer.message["error"]["code"] == -32022
        assert MODERN in answer.message["error"]["data"]["supported"]


def test_a_header_that_differs_from_the_body_is_refused(stack):
    with McpClient(stack.url, stack.key, MODERN) as client:
        meta = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
        answer = client.post(rpc(params={"_meta": meta}), {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call"})
        assert (answer.status, answer.message["error"]["code"]) == (400, -32020)


def test_initialize_negotiates(alice):
    def offered(version):
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        return alice.post(rpc("initialize", params)).message["result"]["protocolVersion"]
    for version in ("2025-03-26", "2025-06-18", LEGACY):
        assert offered(version) == version
    assert offered("1999-01-01") == LEGACY
