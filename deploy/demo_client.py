#!/usr/bin/env python3
"""A small MCP client (Streamable HTTP, 2025-11-25): runs a command in a new sandbox, has a file
presented, and downloads it by its link.

Takes SANDKEEP_URL and SANDKEEP_KEY from the environment: arguments are there for everyone to read.
"""

import json
import os
import re
import secrets
import sys
import urllib.error
import urllib.request

PROTOCOL = "2025-11-25"
COMMAND = """\
. /etc/os-release && echo "$PRETTY_NAME, kernel $(uname -r), as $(id -un)"
python3 - > primes.txt <<'END'
print(*[n for n in range(2, 100) if all(n % d for d in range(2, n))])
END
ls -l primes.txt"""

# The gateway is on this machine: no proxy stands between.
http = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Client:
    def __init__(self, url, key):
        self.url = url
        self.headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        self.last_id = 0
        self.server = self.call("initialize", {
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "sandkeep-demo", "version": "1"},
        })
        self.headers["MCP-Protocol-Version"] = self.server["protocolVersion"]
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def post(self, message):
        request = urllib.request.Request(self.url, json.dumps(message).encode(), self.headers)
        response = http.open(request, timeout=300)
        if response.headers.get("Mcp-Session-Id"):
            self.headers["Mcp-Session-Id"] = response.headers["Mcp-Session-Id"]
        return response

    def call(self, method, params):
        """Sends a request and returns its result, whether it comes as JSON or as an event."""
        self.last_id += 1
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}
        with self.post(message) as response:
            if response.headers.get_content_type() == "text/event-stream":
                answers = (json.loads(line[5:]) for line in response if line.startswith(b"data:"))
            else:
                answers = [json.load(response)]
            for answer in answers:
                if answer.get("id") == self.last_id:
                    if "error" in answer:
                        raise RuntimeError(f"{method}: {answer['error']['message']}")
                    return answer["result"]
        raise RuntimeError(f"{method}: the answer had no result")

    def tool(self, name, **arguments):
        """Calls a tool and returns the text of its result."""
        result = self.call("tools/call", {"name": name, "arguments": arguments})
        text = "\n".join(item["text"] for item in result["content"] if item["type"] == "text")
        if result.get("isError"):
            raise RuntimeError(f"{name}: {text}")
        return text


def show(title, text):
    print(f"\n{title}")
    for line in text.rstrip("\n").split("\n"):
        print(f"    {line}")


def demonstrate(client):
    server = client.server
    show("The client has connected:", f"{server['serverInfo']['name']} "
         f"{server['serverInfo']['version']}, protocol {server['protocolVersion']}")
    tools = client.call("tools/list", {})["tools"]
    show("Its tools:", ", ".join(tool["name"] for tool in tools))

    label = f"demo-{secrets.token_hex(3)}"
    show(f"It calls run_command in a new sandbox, {label}:", COMMAND)
    show("The result:", client.tool("run_command", sandbox=label, command=COMMAND))

    presented = client.tool("present_file", sandbox=label, path="primes.txt",
                            caption="The primes below 100")
    show("It calls present_file for primes.txt. The result:", presented)
    link = re.search(r"https?://[^\s()<>]+/dl/[^\s()<>]+", presented)
    if not link:
        raise RuntimeError("present_file: the result has no link")
    with http.open(link.group(), timeout=60) as response:
        content = response.read().decode()
    show("A browser downloads the link:", content)
    if not content.startswith("2 3 5 7 11 "):
        raise RuntimeError("the download is not the file that the command wrote")


def main():
    try:
        demonstrate(Client(os.environ["SANDKEEP_URL"], os.environ["SANDKEEP_KEY"]))
    except KeyError as error:
        sys.exit(f"demo_client: {error} is missing")
    except urllib.error.HTTPError as error:
        sys.exit(f"demo_client: {error.url}: {error}: {error.read(500).decode(errors='replace')}")
    except (OSError, RuntimeError, ValueError) as error:
        sys.exit(f"demo_client: {error}")


main()
