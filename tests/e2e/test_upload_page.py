"""The upload page in a real browser: picked files and folders arrive and are listed, on a phone too. Screenshots are left in the
build's artifacts."""

import hashlib
import secrets

import pytest
from browser import Browser, what_is_missing
from stack import BUILD, wait_for
from test_uploads import open_upload, sha256_inside

pytestmark = pytest.mark.skipif(bool(what_is_missing()), reason=what_is_missing())
PICTURES = BUILD / "artifacts" / "upload"
# The last one is a phone's.
VIEWS = {"desk-dark": (1000, 700, "dark"), "phone-light": (400, 800, "light")}


@pytest.fixture(scope="module")
def browser():
    with Browser() as running:
        yield running


def text_of(browser, css):
    return browser.run(f"return document.querySelector({css!r}).textContent")


def take_pictures(browser, name):
    for view, shape in VIEWS.items():
        browser.show_as(*shape)
        assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth"), f"{view} is to be scrolled sideways"
        browser.screenshot(PICTURES / f"{name}-{view}.png")


def test_picked_files_arrive_in_pieces(browser, alice, label, tmp_path):
    name, url = open_upload(alice, label, path="in/")
    # More than one piece, an empty one, and a name that would be markup.
    data = secrets.token_bytes(40_000_000)
    (tmp_path / "large.bin").write_bytes(data)
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "<b>Übersicht & 琥珀<b>.txt").write_text("text")
    browser.open(url)
    take_pictures(browser, "empty")
    for file in tmp_path.iterdir():
        browser.type("#files", str(file))
    wait_for("all to arrive", lambda: text_of(browser, "#say") == "3 files arrived.", 120)
    listed = browser.run("return [...document.querySelectorAll('#list li')].map((item) => item.innerText.trim())")
    assert sorted(listed) == ["<b>Übersicht & 琥珀<b>.txt, 4 bytes: arrived", "empty.txt, 0 bytes: arrived", "large.bin, 40.0 MB: arrived"]
    take_pictures(browser, "arrived")
    assert browser.complaints() == []
    assert sha256_inside(alice, label, "in/large.bin") == hashlib.sha256(data).hexdigest()
    assert alice.output(label, "ls in; cat in/*.txt").split() == ["<b>Übersicht", "&", "琥珀<b>.txt", "empty.txt", "large.bin", "text"]
    browser.click("#done")
    wait_for("the page to end", lambda: "close this page" in text_of(browser, "#say"), 20)
    told = alice.call("wait_upload", sandbox=label, upload=name).text
    assert "in/large.bin, 40.0 MB" in told and "person is done" in told
    browser.open(url)
    assert "over" in text_of(browser, "h1")


def test_a_dropped_file_and_folder_arrive(browser, alice, label, tmp_path):
    _, url = open_upload(alice, label)
    (tmp_path / "album" / "deep").mkdir(parents=True)
    (tmp_path / "album" / "deep" / "琥珀.txt").write_text("inside")
    (tmp_path / "single.txt").write_text("alone")
    browser.open(url)
    dropped = {"items": [], "files": [str(tmp_path / "album"), str(tmp_path / "single.txt")], "dragOperationsMask": 1}
    for step in ("dragEnter", "dragOver"):
        browser.devtools("Input.dispatchDragEvent", type=step, x=100, y=200, data=dropped)
    assert browser.run("return document.getElementById('drop').className") == "over"
    browser.screenshot(PICTURES / "over.png")
    browser.devtools("Input.dispatchDragEvent", type="drop", x=100, y=200, data=dropped)
    wait_for("both to arrive", lambda: text_of(browser, "#say") == "2 files arrived.", 60)
    assert browser.complaints() == []
    assert alice.output(label, "cat album/deep/*.txt single.txt; ls") == "insidealonealbum\nsingle.txt\n"


def test_what_is_too_large_is_said_before_it_is_sent(browser, alice, label, tmp_path):
    _, url = open_upload(alice, label, max_bytes=1000)
    (tmp_path / "f.bin").write_bytes(b"x" * 2000)
    browser.open(url)
    browser.type("#files", str(tmp_path / "f.bin"))
    wait_for("the refusal", lambda: "too large" in text_of(browser, "#list"), 20)
    assert browser.complaints() == []


def test_a_picked_folder_keeps_its_shape(browser, alice, label, tmp_path):
    _, url = open_upload(alice, label)
    (tmp_path / "album" / "deep").mkdir(parents=True)
    (tmp_path / "album" / "a.txt").write_text("a")
    (tmp_path / "album" / "deep" / "琥珀.txt").write_text("b")
    browser.open(url)
    browser.type("#folder", str(tmp_path / "album"))
    wait_for("both to arrive", lambda: text_of(browser, "#say") == "2 files arrived.", 60)
    assert browser.complaints() == []
    assert alice.output(label, "find album -type f | sort; cat album/a.txt album/deep/*").splitlines() == \
        ["album/a.txt", "album/deep/琥珀.txt", "ab"]


def test_a_page_for_one_file_takes_one_and_says_so(browser, alice, label):
    _, url = open_upload(alice, label, path="one.txt")
    browser.open(url)
    browser.run("add(new File(['first'], 'a.txt')); add(new File(['other'], 'b.txt'))")
    wait_for("the first to arrive", lambda: text_of(browser, "#say") == "1 file arrived.", 20)
    assert "not taken, one file was asked for" in text_of(browser, "#list")
    assert alice.output(label, "cat one.txt") == "first"


def test_a_files_name_is_never_more_than_text(browser, alice, label):
    _, url = open_upload(alice, label, path="in/", max_bytes=100)
    browser.open(url)
    name = "<img src=x onerror=document.title=1>.txt"
    browser.run(f"add(new File(['text'], {name!r})); add(new File(['x'.repeat(200)], {name!r}))")
    wait_for("the first to arrive", lambda: text_of(browser, "#say") == "1 file arrived.", 20)
    assert text_of(browser, "#list").count(name) == 2 and "too large" in text_of(browser, "#list")
    assert browser.run("return document.querySelectorAll('img').length") == 0
    assert browser.run("return document.title") == "Hand files to your sandbox"
    assert browser.complaints() == []
    assert alice.output(label, "ls in").strip() == name


def test_a_screen_reader_finds_its_way(browser, alice, label):
    _, url = open_upload(alice, label)
    browser.open(url)
    tree = browser.accessible_tree()
    assert ("heading", "Hand files to your sandbox") in tree
    assert any(role == "button" and "Pick files" in name for role, name in tree), tree
