"""What a person writes with FastMCP to run commands in a container: `podman exec` for each."""

import asyncio
import json
import os
import sys

from fastmcp import FastMCP

server = FastMCP("rival")


@server.tool
async def run_command(command: str) -> str:
    """Run a bash command in the container."""
    arguments = [*json.loads(os.environ["BENCH_EXEC"]), os.environ["BENCH_CONTAINER"], "/bin/bash", "-lc", command]
    process = await asyncio.create_subprocess_exec(*arguments, cwd="/", stdout=asyncio.subprocess.PIPE,
                                                   stderr=asyncio.subprocess.STDOUT)
    output, _ = await process.communicate()
    return f"[exit {process.returncode}]\n{output.decode(errors='replace')}"


@server.tool
def echo(text: str) -> str:
    """Say it again."""
    return text


server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), path="/mcp", json_response=True, log_level="error",
           show_banner=False)
