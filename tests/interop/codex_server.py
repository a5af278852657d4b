"""Codex without a model: its app server, which takes the calls that a model would make."""

import json
import subprocess


class CodexServer:
    def __init__(self, person):
        self.process = person.start("codex", "app-server", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL)
        self.last = 0

    def __enter__(self):
        self.ask("initialize", clientInfo={"name": "interop", "title": "interop", "version": "1"})
        self._send({"jsonrpc": "2.0", "method": "initialized"})
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def _send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method, **params):
        self.last += 1
        self._send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.last and "method" not in answer:
                assert "result" in answer, answer
                return answer["result"]
        raise EOFError("the app server ended")

    def call(self, server, tool, **arguments):
        thread = self.ask("thread/start")["thread"]["id"]
        return self.ask("mcpServer/tool/call", threadId=thread, server=server, tool=tool, arguments=arguments)
