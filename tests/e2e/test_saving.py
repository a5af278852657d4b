"""What people save by a link has the file's own name: in curl, wget and Chromium, whatever characters are in it."""

import os
import subprocess
import urllib.parse

import pytest
from browser import Browser, what_is_missing
from stack import wait_for
from test_files import link_in

# Each tool keeps some characters out of names itself; a newline is kept out by us, since it ends a header.
NAMES = ["plain name (1).bin", "Übersicht 琥珀 Отчёт שלום.bin", "it's \"quoted\".bin", "100% %41 a+b;c.bin", "new\nline.bin", "back\\slash.bin",
         "rtl\u202egpj.bin", "a" * 251 + ".bin", "琥" * 83 + ".bin", "-rf.bin", ".hidden.bin"]


LONG = [name for name in NAMES if len(name.encode()) > 230]


def shortened(name):
    """So that there is room for what programs add while they save."""
    stem, dot, ending = name.rpartition(".")
    room = 230 - len((dot + ending).encode())
    return stem.encode()[:room].decode(errors="ignore") + dot + ending


def as_curl_saves(name):
    # It knows no escape inside quotes.
    return shortened(name).translate({ord(c): "_" for c in '"\\\n'})


def as_wget_saves(name):
    # It decodes twice.
    return urllib.parse.unquote(shortened(name)).replace("\n", "_")


def as_chromium_saves(name):
    return shortened(name).translate({ord(c): "_" for c in '"\\\n\u202e'}).lstrip(".")


@pytest.fixture
def served(stack, alice, label):
    """Each name's URL; the file holds its own name."""
    urls = {}
    for number, name in enumerate(NAMES):
        result = alice.call("write_file", sandbox=label, path=f"{number}/{name}", content=name)
        assert not result.is_error, result
        path = link_in(alice.call("present_file", sandbox=label, path=f"{number}/{name}"))
        urls[name] = f"http://127.0.0.1:{stack.port}{path}"
    return urls


def saved_in(folder, urls, save):
    """By each name, what `save` left in a folder of its own."""
    found = {}
    for number, (name, url) in enumerate(urls.items()):
        own = folder / str(number)
        own.mkdir()
        save(url, own)
        (file,) = os.listdir(own)
        assert (own / file).read_text() == name
        found[name] = file
    return found


def test_curl(served, tmp_path):
    def save(url, folder):
        subprocess.run(["curl", "-fsSOJ", url], cwd=folder, check=True, capture_output=True)
    assert saved_in(tmp_path, served, save) == {name: as_curl_saves(name) for name in NAMES}


def test_wget(served, tmp_path):
    def save(url, folder):
        # Left to itself it spells some bytes of UTF-8 in hexadecimal.
        subprocess.run(["wget", "-q", "--content-disposition", "--restrict-file-names=nocontrol", url], cwd=folder, check=True,
                       capture_output=True)
    # Of a name beyond ASCII it takes each byte for three, and cuts what is too long by that.
    urls = {name: url for name, url in served.items() if name.isascii() or name not in LONG}
    assert saved_in(tmp_path, urls, save) == {name: as_wget_saves(name) for name in urls}


@pytest.mark.skipif(bool(what_is_missing()), reason=what_is_missing())
def test_chromium(served, tmp_path):
    with Browser() as browser:
        def save(url, folder):
            browser.devtools("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
            browser.open("about:blank")
            browser.run(f"location.href = {url!r}")
            wait_for("the download", lambda: (names := os.listdir(folder))
                     and not any(name.endswith(".crdownload") or name.startswith(".org.chromium") for name in names), 30)
        assert saved_in(tmp_path, served, save) == {name: as_chromium_saves(name) for name in NAMES}


def test_a_link_itself_has_nothing_that_a_shell_or_a_chat_would_break(served):
    for url in served.values():
        assert urllib.parse.unquote(url) == url or set(url) <= set("%") | set(urllib.parse.quote(url, safe=":/%+;()'"))
        assert not set(url) & set(" \"\\<>\n`[]")
