"""Which folder may include which: the privilege boundary as a table, held by every build."""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')

# (where, what may not be included, except from, why)
FORBIDDEN = [
    ("common/", r"^(agent|gateway)/", (), "common knows neither process"),
    ("common/", r"^boost/beast|podman|sandkeep/", (), "common knows nothing of HTTP, MCP or the engine"),
    ("agent/", r"^gateway/", (), "the agent never sees the gateway's grammar"),
    ("gateway/", r"^agent/(?!client/)", (), "of the agent, the gateway knows its client only"),
    ("", r"sandkeep/agent/v1/agent\.grpc\.pb\.h$", ("agent/client/", "agent/service/", "tests/"),
     "only client and service speak the agent's API"),
    ("gateway/", r"^boost/beast/http", ("gateway/http/",), "HTTP is parsed in one place"),
    ("gateway/mcp/", r"^boost/beast|^gateway/http/", (), "MCP knows no HTTP"),
    ("agent/sandbox/", r"^grpc|^sandkeep/agent/", (), "the sandbox manager knows no gRPC"),
    ("agent/jobs/", r"^grpc|^sandkeep/agent/", (), "jobs know no gRPC"),
]


def sources(root):
    for folder in ("common", "agent", "gateway", "tests"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cc", ".inc"):
                yield path.relative_to(root)


def breaches(root):
    for path in sources(root):
        lines = (root / path).read_text().splitlines()
        for number, line in enumerate(lines, 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            for where, what, but_from, why in FORBIDDEN:
                name = str(path)
                if name.startswith(where) and not name.startswith(but_from or ("\0",)) and re.search(what, found[1]):
                    yield f"{path}:{number}: includes {found[1]}: {why}"


def beast_instantiations(root):
    """Beast's HTTP templates cost 20 to 90 s each time they are compiled."""
    files = [p for p in sources(root) if p.suffix == ".cc" and str(p).startswith("gateway/")
             and "boost/beast/http" in (root / p).read_text()]
    if len(files) > 4:
        yield f"{len(files)} files of the gateway compile Beast's HTTP templates, at most 4 may: {', '.join(map(str, files))}"


root = pathlib.Path(sys.argv[1])
found = [*breaches(root), *beast_instantiations(root)]
print("\n".join(found))
sys.exit(bool(found))
