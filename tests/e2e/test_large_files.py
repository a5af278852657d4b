"""Files beyond what four bytes count, most of it holes: any part of them by link, whole in an archive; and files of nothing."""

import hashlib
import subprocess
import tarfile
import urllib.parse
import zipfile

import pytest
from test_files import fetch, link_in

GIB = 1 << 30
SIZE = 5 * GIB + 3
# Where something stands between the holes.
MARKS = {0: b"begin", 2 * GIB - 2: b"2GiB", 4 * GIB - 2: b"4GiB", SIZE - 3: b"end"}


@pytest.fixture(scope="module")
def sparse(stack):
    from mcp_client import McpClient
    with McpClient(stack.url, stack.key) as client:
        marks = "; ".join(f"printf {text.decode()} | dd of=big bs=1 seek={at} conv=notrunc status=none" for at, text in MARKS.items())
        client.output("large-files", f"mkdir -p d; cd d; truncate -s {SIZE} big; {marks}; : >nothing")
        assert int(client.output("large-files", "stat -c %b d/big")) * 512 < 1_000_000, "it takes next to no room"
        yield client


def expected(first, last):
    data = bytearray(last - first + 1)
    for at, text in MARKS.items():
        for i, byte in enumerate(text):
            if first <= at + i <= last:
                data[at + i - first] = byte
    return bytes(data)


def test_any_part_of_five_gibibytes(sparse):
    path = link_in(sparse.call("present_file", sandbox="large-files", path="d/big"))
    head = fetch(sparse, path, "HEAD")
    assert (head.status, head.headers["content-length"]) == (200, str(SIZE))
    for first, last in ((0, 99), (2 * GIB - 50, 2 * GIB + 50), (4 * GIB - 10_000_000, 4 * GIB + 10_000_000), (SIZE - 100, SIZE - 1)):
        part = fetch(sparse, path, Range=f"bytes={first}-{last}", If_Range=head.headers["etag"])
        assert (part.status, part.headers["content-range"]) == (206, f"bytes {first}-{last}/{SIZE}")
        assert hashlib.sha256(part.body).digest() == hashlib.sha256(expected(first, last)).digest()
        inside = sparse.output("large-files", f"tail -c +{first + 1} d/big | head -c {last - first + 1} | sha256sum")
        assert inside.split()[0] == hashlib.sha256(part.body).hexdigest()
    assert fetch(sparse, path, Range="bytes=-3").body == b"end"
    assert fetch(sparse, path, Range=f"bytes={SIZE}-").status == 416
    # Another file by now: the rest of the old one must not be taken for its rest. Only the head of it is wanted here.
    sparse.output("large-files", "touch d/big")
    other = fetch(sparse, path, "HEAD", Range="bytes=0-9", If_Range=head.headers["etag"])
    assert (other.status, other.headers["content-length"]) == (200, str(SIZE))


def test_a_broken_download_goes_on_where_it_stopped(stack, sparse, tmp_path):
    path = link_in(sparse.call("present_file", sandbox="large-files", path="d/big"))
    saved = tmp_path / "big"
    with open(saved, "wb") as file:
        file.truncate(SIZE - 50_000_000)
    subprocess.run(["curl", "-fsS", "-C", "-", "-o", saved, f"http://127.0.0.1:{stack.port}{path}"], check=True)
    assert saved.stat().st_size == SIZE
    with open(saved, "rb") as file:
        file.seek(SIZE - 50_000_000)
        assert file.read() == expected(SIZE - 50_000_000, SIZE - 1)


def test_nothing_is_a_file_too(sparse):
    path = link_in(sparse.call("present_file", sandbox="large-files", path="d/nothing"))
    whole = fetch(sparse, path)
    assert (whole.status, whole.headers["content-length"], whole.body) == (200, "0", b"")
    assert fetch(sparse, path, Range="bytes=0-").status == 416
    assert fetch(sparse, path, "HEAD").headers["content-length"] == "0"


def saved_archive(stack, client, format, folder):
    path = link_in(client.call("present_file", sandbox="large-files", path="d", format=format))
    file = folder / urllib.parse.unquote(path.rpartition("/")[2])
    subprocess.run(["curl", "-fsS", "-o", file, f"http://127.0.0.1:{stack.port}{path}"], check=True)
    return file


def check(file, size):
    assert size == SIZE
    at = 0
    while part := file.read(1 << 24):
        assert part == expected(at, at + len(part) - 1), at
        at += len(part)
    assert at == SIZE


def test_five_gibibytes_in_a_zip(stack, sparse, tmp_path):
    with zipfile.ZipFile(saved_archive(stack, sparse, "zip", tmp_path)) as archive:
        assert sorted(archive.namelist()) == ["big", "nothing"]
        with archive.open("big") as file:
            check(file, archive.getinfo("big").file_size)


def test_five_gibibytes_in_a_tar(stack, sparse):
    path = link_in(sparse.call("present_file", sandbox="large-files", path="d", format="tar"))
    curl = subprocess.Popen(["curl", "-fsS", f"http://127.0.0.1:{stack.port}{path}"], stdout=subprocess.PIPE)
    with curl, tarfile.open(fileobj=curl.stdout, mode="r|", bufsize=1 << 20) as archive:
        names = []
        for member in archive:
            names.append(member.name)
            if member.name == "big":
                check(archive.extractfile(member), member.size)
    assert curl.returncode == 0 and sorted(names) == ["big", "nothing"]
