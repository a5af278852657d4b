"""A model that isn't one: it answers what chat clients ask their provider, in three providers' words, and asks for one call of a tool
as a model would. So a client's whole way to a tool can be seen without a model and without an account."""

import http.server
import json
import threading


def as_event(event):
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n"


class ScriptedModel:
    """Asks for `tool` with `arguments` once the client offers it, and keeps what comes back in `results`."""

    def __init__(self, tool, arguments):
        self.tool, self.arguments = tool, arguments
        self.results = []

    def __enter__(self):
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
                events = model.answer(self.path, body)
                if self.path.endswith(":generateContent"):
                    self._send(json.dumps(events[0]).encode(), "application/json")
                else:
                    self._send("".join(map(as_event, events)).encode(), "text/event-stream")

            def do_GET(self):
                self._send(b"{}", "application/json")

            do_HEAD = do_GET

            def _send(self, data, kind):
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, path, body):
        if "/chat/completions" in path:
            return self._openai(body)
        if "enerateContent" in path:
            return self._google(body)
        return self._anthropic(body)

    def _choose(self, names):
        """The client's name for the tool, if it is offered and hasn't been called."""
        return None if self.results else next((name for name in names if name.endswith(self.tool)), None)

    def _anthropic(self, body):
        for message in body.get("messages", []):
            blocks = message["content"] if isinstance(message["content"], list) else []
            self.results += [json.dumps(block["content"]) for block in blocks if block["type"] == "tool_result"]
        name = self._choose([tool["name"] for tool in body.get("tools", [])])
        block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}} if name else {"type": "text", "text": ""}
        delta = ({"type": "input_json_delta", "partial_json": json.dumps(self.arguments)} if name else
                 {"type": "text_delta", "text": "done"})
        usage = {"input_tokens": 1, "output_tokens": 1}
        return [
            {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted",
                                                  "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use" if name else "end_turn", "stop_sequence": None},
             "usage": usage},
            {"type": "message_stop"},
        ]

    def _google(self, body):
        for content in body.get("contents", []):
            self.results += [json.dumps(part["functionResponse"]["response"]) for part in content["parts"] if "functionResponse" in part]
        offered = [function["name"] for tool in body.get("tools", []) for function in tool.get("functionDeclarations", [])]
        name = self._choose(offered)
        part = {"functionCall": {"name": name, "args": self.arguments}} if name else {"text": "done"}
        return [{"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                 "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}]

    def _openai(self, body):
        self.results += [json.dumps(message["content"]) for message in body.get("messages", []) if message["role"] == "tool"]
        name = self._choose([tool["function"]["name"] for tool in body.get("tools", [])])
        call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": json.dumps(self.arguments)}}
        delta = {"role": "assistant", "tool_calls": [call]} if name else {"role": "assistant", "content": "done"}
        about = {"id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
        return [{**about, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                {**about, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if name else "stop"}]}]
