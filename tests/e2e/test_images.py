"""Whatever a picture's file says of itself, a chat goes on: it is shown within bounds, or only linked."""

import base64
import hashlib
import os
import struct
import zlib

import pytest
from test_files import fetch, link_in

MAX_PX = 1568
MAX_BYTES = 700_000


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(width, height, row, depth=8, colours=2):
    """`row(y)` gives the bytes of one line."""
    packer = zlib.compressobj(1)
    pixels = b"".join(packer.compress(b"\0" + row(y)) for y in range(height)) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, depth, colours, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def noise(width, height):
    return png(width, height, lambda _: os.urandom(width * 3))


def put(client, label, path, data):
    result = client.call("write_file", sandbox=label, path=path, content=base64.b64encode(data).decode(), encoding="base64")
    assert not result.is_error, result


def present(client, label, path):
    result = client.call("present_file", sandbox=label, path=path)
    assert not result.is_error, result
    pictures = [part for part in result.content if part["type"] == "image"]
    assert len(pictures) <= 1
    return result, pictures[0] if pictures else None


def size_of(picture):
    """Of what is attached: its kind by its bytes, width and height."""
    data = base64.b64decode(picture["data"])
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        return ("image/png", *struct.unpack(">II", data[16:24]))
    assert data[:2] == b"\xff\xd8"
    at = 2
    while data[at + 1] not in (0xC0, 0xC1, 0xC2):
        at += 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
    height, width = struct.unpack(">HH", data[at + 5:at + 9])
    return "image/jpeg", width, height


def test_a_small_picture_is_shown_as_it_is(alice, label):
    data = png(300, 200, lambda y: bytes([y % 256, 0, 255]) * 300)
    put(alice, label, "plot.png", data)
    result, picture = present(alice, label, "plot.png")
    assert "The image follows." in result.text
    assert base64.b64decode(picture["data"]) == data


def test_too_large_a_picture_is_shown_smaller_and_linked_whole(alice, label):
    data = noise(2000, 1500)
    put(alice, label, "noise.png", data)
    result, picture = present(alice, label, "noise.png")
    kind, width, height = size_of(picture)
    assert picture["mimeType"] == kind == "image/jpeg"
    assert max(width, height) <= MAX_PX and len(base64.b64decode(picture["data"])) <= MAX_BYTES
    assert f"made smaller to {width} x {height} pixels" in result.text and "image/png" in result.text
    whole = fetch(alice, link_in(result))
    assert hashlib.sha256(whole.body).digest() == hashlib.sha256(data).digest()
    # What was made of it is a picture that goes through as it is.
    put(alice, label, "copy.jpg", base64.b64decode(picture["data"]))
    assert present(alice, label, "copy.jpg")[1]["data"] == picture["data"]


def test_a_wrong_name_is_no_matter(alice, label):
    put(alice, label, "really.jpg", png(20, 20, lambda _: bytes(60)))
    result, picture = present(alice, label, "really.jpg")
    assert picture["mimeType"] == "image/png"


BROKEN = {
    "bomb.png": png(50_000, 50_000, lambda _: bytes(6250), depth=1, colours=0),
    "cut.png": noise(200, 200)[:-5000],
    "lie.png": png(10, 10, lambda _: bytes(30)).replace(struct.pack(">II", 10, 10), struct.pack(">II", 10, 9000)),
    "tall.gif": b"GIF89a\xff\xff\xff\xff\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\xff\xff\xff\xff\0\x02\x02D\x01\0;",
    "empty.webp": b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\xff\xff\xff\x0f\0\0\0\0\0\0\0\0\0",
    "marker.jpg": b"\xff\xd8\xff\xe0" + b"\xff" * 100,
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_no_client_could_take_is_only_linked(alice, shared_label, name):
    put(alice, shared_label, name, BROKEN[name])
    result, picture = present(alice, shared_label, name)
    assert picture is None and "The image can't be shown here: it " in result.text, result
    assert fetch(alice, link_in(result)).body == BROKEN[name]
    # And the next one is shown.
    put(alice, shared_label, "good.png", png(9, 9, lambda _: bytes(27)))
    assert present(alice, shared_label, "good.png")[1]


def test_a_picture_that_only_its_owner_may_read(alice, label):
    put(alice, label, "own.png", png(9, 9, lambda _: bytes(27)))
    alice.output(label, "chmod 600 own.png; chown 1000:1000 own.png")
    assert present(alice, label, "own.png")[1]
