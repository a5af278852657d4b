#!/usr/bin/python3
"""Runs root's commands for the tests, inside the emulated host: one JSON object a line on a serial port that nobody else has.

{"command": TEXT, "seconds": N} is answered by {"code": N, "output": TEXT}. The first line says that the host is up.
"""

import json
import subprocess

PORT = "/dev/virtio-ports/hand"
TOO_LONG = 124


def run(request):
    try:
        done = subprocess.run(["/bin/bash", "-c", request["command"]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=request["seconds"], cwd="/")
        return {"code": done.returncode, "output": done.stdout.decode(errors="replace")}
    except subprocess.TimeoutExpired as error:
        return {"code": TOO_LONG, "output": (error.stdout or b"").decode(errors="replace")}


def main():
    with open(PORT, "r+b", buffering=0) as port:
        port.write(b'{"up": true}\n')
        rest = b""
        while chunk := port.read(65536):
            rest += chunk
            *lines, rest = rest.split(b"\n")
            for line in lines:
                port.write(json.dumps(run(json.loads(line))).encode() + b"\n")


main()
