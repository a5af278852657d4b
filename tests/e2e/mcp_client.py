"""A small MCP client over Streamable HTTP that keeps its connection and can also say what no real client would."""

import http.client
import itertools
import json
import urllib.parse

LEGACY = "2025-11-25"
MODERN = "2026-07-28"


class Answer:
    """One HTTP response: `status`, `headers`, `body`, and the JSON-RPC message in it, if there is one."""

    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()
        self.message = self._message()

    def _message(self):
        kind = self.headers.get("content-type", "")
        if kind.startswith("application/json") and self.body:
            return json.loads(self.body)
        if kind.startswith("text/event-stream"):
            events = [json.loads(line[5:]) for line in self.body.split(b"\n") if line.startswith(b"data:")]
            return events[-1] if events else None
        return None


class ToolResult:
    def __init__(self, result):
        self.raw = result
        self.content = result["content"]
        self.is_error = result.get("isError", False)
        self.text = "\n".join(part["text"] for part in self.content if part["type"] == "text")
        self.first_line, _, self.rest = self.text.partition("\n")

    @property
    def exit_code(self):
        """From the first line's `[exit N]`; None if it has none."""
        _, found, tail = self.first_line.partition("[exit ")
        return int(tail.split("]")[0]) if found else None

    @property
    def output(self):
        """What follows the first line and its notes."""
        lines = self.rest.split("\n")
        while lines and lines[0].startswith("note: "):
            lines.pop(0)
        return "\n".join(lines)

    def __repr__(self):
        return f"<{'error ' if self.is_error else ''}{self.text!r}>"


class McpClient:
    def __init__(self, url, key, era=LEGACY, timeout=120, capabilities=None):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port, self.path = parts.hostname, parts.port, parts.path
        self.key = key
        self.era = era
        self.capabilities = capabilities or {}
        self.timeout = timeout
        self.ids = itertools.count(1)
        self.connection = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def _connect(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)

    def post(self, body, headers=None, path=None):
        """Any bytes to the endpoint."""
        given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                 "Authorization": f"Bearer {self.key}", **(headers or {})}
        return self.send("POST", path or self.path, body, {k: v for k, v in given.items() if v is not None})

    def send(self, method, path, body=None, headers=None):
        for attempt in (1, 2):
            if self.connection is None:
                self.connection = self._connect()
            fresh = self.connection.sock is None
            try:
                self.connection.request(method, path, body, headers or {})
                return Answer(self.connection.getresponse())
            except (http.client.HTTPException, OSError):
                self.close()
                # A kept connection may have been closed meanwhile; a fresh one that fails has failed.
                if fresh or attempt == 2:
                    raise

    def request(self, method, params=None):
        """A well-formed request of this client's era; the JSON-RPC answer."""
        params = dict(params or {})
        headers = {"MCP-Protocol-Version": self.era}
        if self.era == MODERN:
            params["_meta"] = {"io.modelcontextprotocol/protocolVersion": MODERN,
                               "io.modelcontextprotocol/clientCapabilities": self.capabilities,
                               "io.modelcontextprotocol/clientInfo": {"name": "e2e", "version": "1"}}
            headers["Mcp-Method"] = method
            mirrored = {"tools/call": "name", "resources/read": "uri"}.get(method, "taskId" if method.startswith("tasks/") else None)
            if mirrored:
                headers["Mcp-Name"] = params[mirrored]
        body = {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params}
        answer = self.post(json.dumps(body), headers)
        assert answer.message is not None, (answer.status, answer.body)
        assert answer.message.get("id") == body["id"], answer.message
        return answer.message

    def call(self, tool, **arguments):
        message = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert "result" in message, message
        return ToolResult(message["result"])

    def run(self, sandbox, command, **arguments):
        return self.call("run_command", sandbox=sandbox, command=command, **arguments)

    def output(self, sandbox, command, **arguments):
        """The output of a command that must succeed."""
        result = self.run(sandbox, command, **arguments)
        assert result.exit_code == 0 and not result.is_error, result
        return result.output
