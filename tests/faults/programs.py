"""The programs of tests/testcases, brought into a sandbox."""

import base64

from stack import BUILD


def bring(client, label, *names):
    for name in names:
        program = base64.b64encode((BUILD / "tests" / "testcases" / name).read_bytes()).decode()
        client.output(label, f"base64 -d >/usr/local/bin/{name} && chmod +x /usr/local/bin/{name}", stdin=program)


def field(result, name):
    """The value of a field of the first line, or None."""
    _, found, tail = result.first_line.partition(f"[{name} ")
    return tail.split("]")[0] if found else None


def whole_output(client, label, job):
    """All that a command has printed, as text, read part by part."""
    text, at = "", 0
    while at is not None:
        part = client.call("read_output", sandbox=label, job=job, offset=at)
        assert not part.is_error, part
        text += part.output
        following = field(part, "next offset")
        if following is not None and int(following) == at:
            return text
        at = None if following is None else int(following)
    return text
