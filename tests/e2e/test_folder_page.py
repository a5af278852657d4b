"""A folder's link in a real browser: what is in it is looked at, and saved one by one or all at once, on a phone too. Screenshots are
left in the build's artifacts."""

import hashlib
import io
import os
import tarfile
import urllib.parse
import zipfile

import pytest
from browser import Browser, what_is_missing
from mcp_client import McpClient
from stack import BUILD, Stack, wait_for
from test_files import fetch, link_in
from test_life import listed
from test_saving import NAMES, as_chromium_saves

pytestmark = pytest.mark.skipif(bool(what_is_missing()), reason=what_is_missing())
PICTURES = BUILD / "artifacts" / "folder"
VIEWS = {f"{width}-{scheme}": (width, height, scheme) for width, height in ((1280, 900), (390, 844)) for scheme in ("light", "dark")}
HTML = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
MAKE = """mkdir -p results/plots results/'raw data'; cd results
head -c 4200000 /dev/urandom >model.bin; printf 'a,b\\n1,2\\n' >table.csv; printf 'It went well.\\n' >summary.txt; : >empty.log
head -c 900 /dev/urandom >plots/loss.bin; head -c 700000 /dev/urandom >'raw data/run 1.bin'
printf x >'Übersicht 琥珀 – Отчёт.md'; printf x >'שלום.txt'; printf x >$'caf\\xe9.txt'; printf x >$'new\\nline.txt'
printf x >$'rtl\\xe2\\x80\\xaegpj.exe'; printf x >'<b onclick=alert(1)>&amp;.html'; printf x >'100% %41 "quoted".txt'
printf x >'a-rather-long-name-as-programs-make-them-with-every-parameter-in-it-lr0.001-batch64-epochs100-seed42.txt'
ln -s /etc/passwd passwd; mkfifo pipe; touch -d '2021-02-03 04:05:06 UTC' table.csv"""


@pytest.fixture(scope="module")
def browser():
    with Browser() as running:
        yield running


def url_of(stack, client, label, path, **more):
    return f"http://127.0.0.1:{stack.port}{link_in(client.call('present_file', sandbox=label, path=path, **more))}"


def names_on(browser):
    return browser.run("return [...document.querySelectorAll('.name')].map((name) => name.textContent)")


def click_on(browser, name):
    assert browser.run(f"const link = [...document.querySelectorAll('a')].find((link) => link.textContent === {name!r});"
                       "link?.click(); return Boolean(link)"), f"no link {name!r}"


def saved_by(browser, folder, act):
    """Name and SHA-256 of the one file that `act` makes the browser save."""
    folder.mkdir(parents=True)
    browser.devtools("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    act()
    wait_for("the download", lambda: (names := os.listdir(folder))
             and not any(name.endswith(".crdownload") or name.startswith(".org.chromium") for name in names), 30)
    (name,) = os.listdir(folder)
    return name, hashlib.sha256((folder / name).read_bytes()).hexdigest()


def take_pictures(browser, name):
    for view, shape in VIEWS.items():
        browser.show_as(*shape)
        assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth"), f"{view} is to be scrolled sideways"
        browser.screenshot(PICTURES / f"{name}-{view}.png")


def test_one_file_and_all_of_them_are_saved_from_the_page(browser, stack, alice, label, tmp_path):
    alice.output(label, MAKE)
    digests = dict(reversed(line.split("  ", 1)) for line in
                   alice.output(label, "cd results; find . -type f -exec sha256sum {} + | sed 's, \\./, ,'").splitlines() if line[0] != "\\")
    browser.open(url_of(stack, alice, label, "results"))
    take_pictures(browser, "page")
    assert browser.run("return [document.title, document.querySelector('h1').textContent]") == ["results", "results"]
    assert names_on(browser)[:2] == ["plots", "raw data"] and "model.bin" in names_on(browser)
    assert saved_by(browser, tmp_path / "one", lambda: click_on(browser, "model.bin")) == ("model.bin", digests["model.bin"])
    name, _ = saved_by(browser, tmp_path / "zip", lambda: click_on(browser, "Download all (.zip)"))
    assert name == "results.zip"
    with zipfile.ZipFile(tmp_path / "zip" / name) as archive:
        assert archive.testzip() is None
        for file in ("model.bin", "plots/loss.bin", "raw data/run 1.bin", "empty.log"):
            assert hashlib.sha256(archive.read(file)).hexdigest() == digests[file], file
    name, _ = saved_by(browser, tmp_path / "tar", lambda: click_on(browser, "As .tar"))
    assert name == "results.tar"
    with tarfile.open(tmp_path / "tar" / name) as archive:
        assert hashlib.sha256(archive.extractfile("raw data/run 1.bin").read()).hexdigest() == digests["raw data/run 1.bin"]
    click_on(browser, "raw data")
    wait_for("the folder below", lambda: browser.run("return document.querySelector('h1').textContent") == "raw data", 10)
    assert names_on(browser) == ["run 1.bin"]
    take_pictures(browser, "below")
    assert saved_by(browser, tmp_path / "below", lambda: click_on(browser, "run 1.bin")) == ("run 1.bin", digests["raw data/run 1.bin"])
    assert saved_by(browser, tmp_path / "below zip", lambda: click_on(browser, "Download all (.zip)"))[0] == "raw data.zip"
    assert browser.complaints() == []


def test_names_that_are_no_plain_text_are_shown_harmless_and_linked_right(browser, stack, alice, label):
    alice.output(label, MAKE)
    browser.open(url_of(stack, alice, label, "results"))
    names = names_on(browser)
    for shown in ("caf\ufffd.txt", "new\ufffdline.txt", "rtl\ufffdgpj.exe", "<b onclick=alert(1)>&amp;.html", '100% %41 "quoted".txt',
                  "Übersicht 琥珀 – Отчёт.md", "שלום.txt", "passwd", "pipe"):
        assert shown in names, (shown, names)
    assert browser.run("return document.querySelectorAll('main b, script, img').length") == 0
    links = dict(browser.run("return [...document.querySelectorAll('a.name')].map((link) => [link.textContent, link.href])"))
    assert not {"passwd", "pipe"} & set(links)
    for name, url in links.items():
        if name not in ("plots", "raw data"):
            answer = fetch(alice, urllib.parse.urlsplit(url).path, Accept=HTML)
            assert answer.status == 200 and "content-disposition" in answer.headers, name
    assert fetch(alice, urllib.parse.urlsplit(links["caf\ufffd.txt"]).path).body == b"x"
    assert browser.complaints() == []


def test_every_file_is_saved_from_the_page_under_its_own_name(browser, stack, alice, label, tmp_path):
    for name in NAMES:
        assert not alice.call("write_file", sandbox=label, path=f"n/{name}", content=name).is_error
    browser.open(url_of(stack, alice, label, "n"))
    count = len(names_on(browser))
    assert count == len(NAMES)
    saved = {}
    for number in range(count):
        name, _ = saved_by(browser, tmp_path / str(number),
                           lambda: browser.run(f"document.querySelectorAll('a.name')[{number}].click()"))  # noqa: B023
        saved[(tmp_path / str(number) / name).read_text()] = name
    assert saved == {name: as_chromium_saves(name) for name in NAMES}


def test_a_screen_reader_finds_its_way(browser, stack, alice, label):
    alice.output(label, MAKE)
    browser.open(url_of(stack, alice, label, "results"))
    tree = browser.accessible_tree()
    assert ("heading", "results") in tree
    for name in ("Download all (.zip)", "As .tar", "model.bin", "plots"):
        assert ("link", name) in tree, tree
    assert [role for role, _ in tree].count("list") == 1
    assert [role for role, _ in tree].count("listitem") == len(names_on(browser))
    assert ("link", "passwd") not in tree


def test_a_long_folder_says_how_much_it_leaves_out(browser, stack, alice, label):
    alice.output(label, "mkdir -p many/zz; cd many; seq 10001 11200 | xargs touch")
    browser.open(url_of(stack, alice, label, "many"))
    names = names_on(browser)
    assert len(names) == 1000 and names[0] == "zz" and names[1:3] == ["10001", "10002"]
    assert browser.run("return document.querySelector('.note').textContent") == "Not shown: 201 others."
    assert "1 folder, 1200 files" in browser.run("return document.querySelector('.soft').textContent")
    click_on(browser, "zz")
    wait_for("the empty one", lambda: "This folder is empty." in browser.run("return document.body.textContent"), 10)
    take_pictures(browser, "empty")


def test_programs_get_the_archive_as_ever(alice, label):
    alice.output(label, MAKE)
    path = link_in(alice.call("present_file", sandbox=label, path="results"))
    page = fetch(alice, path, Accept=HTML)
    assert page.status == 200 and page.headers["content-type"] == "text/html; charset=utf-8" and page.headers["vary"] == "Accept"
    assert "default-src 'none'" in page.headers["content-security-policy"] and "script" not in page.headers["content-security-policy"]
    head = fetch(alice, path, "HEAD", Accept=HTML)
    assert (head.status, head.body, head.headers["content-type"]) == (200, b"", "text/html; charset=utf-8")
    assert head.headers["content-length"] == str(len(page.body))
    for accept in ({}, {"Accept": "*/*"}, {"Accept": "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"}):
        answer = fetch(alice, path, **accept)
        assert "summary.txt" in zipfile.ZipFile(io.BytesIO(answer.body)).namelist(), accept
    assert fetch(alice, path + "?download", "HEAD", Accept=HTML).headers["content-type"] == "application/zip"


def test_it_is_there_whatever_state_the_sandbox_is_in(browser, stack, alice, label, tmp_path):
    alice.output(label, MAKE)
    digest = alice.output(label, "sha256sum <results/model.bin").split()[0]
    url = url_of(stack, alice, label, "results")
    owner = listed(stack)[label]["principal"]
    for act in ("freeze", "rm"):
        stack.ctl(act, owner, label)
        browser.open(url)
        assert saved_by(browser, tmp_path / act, lambda: click_on(browser, "model.bin")) == ("model.bin", digest), act
    assert not alice.call("remove_sandbox", sandbox=label, files=True).is_error
    assert fetch(alice, urllib.parse.urlsplit(url).path, Accept=HTML).status == 404


def test_revoking_a_folders_link_ends_what_its_page_gave_out(browser, stack, alice, label):
    alice.output(label, MAKE)
    url = url_of(stack, alice, label, "results")
    browser.open(url)
    links = browser.run("return [...document.querySelectorAll('a')].map((link) => link.href)")
    click_on(browser, "plots")
    wait_for("the folder below", lambda: browser.run("return document.querySelector('h1').textContent") == "plots", 10)
    links += browser.run("return [...document.querySelectorAll('a')].map((link) => link.href)")
    paths = [urllib.parse.urlsplit(link).path for link in links]
    assert {fetch(alice, path, "HEAD").status for path in paths} == {200}
    stack.links("revoke", url)
    wait_for("all to end", lambda: {fetch(alice, path, "HEAD").status for path in paths} == {404}, 10)


def test_an_expired_page_says_what_to_do(browser):
    with Stack(gateway_settings={"SANDBOX_LINK_TTL": "6"}) as own, McpClient(own.url, own.key) as client:
        client.output("brief", "mkdir -p d; printf x >d/f.bin")
        browser.open(url_of(own, client, "brief", "d"))
        assert names_on(browser) == ["f.bin"]
        (path,) = browser.run("return [...document.querySelectorAll('a.name')].map((link) => new URL(link.href).pathname)")
        wait_for("the end of its file's link", lambda: fetch(client, path, "HEAD").status == 410, 20)
        click_on(browser, "f.bin")
        wait_for("to be told", lambda: browser.run("return document.body.innerText").startswith("This link has expired"), 10)


def test_no_signature_is_in_any_log(stack, alice, label):
    alice.output(label, MAKE)
    path = link_in(alice.call("present_file", sandbox=label, path="results"))
    page = fetch(alice, path, Accept=HTML).body.decode()
    signatures = {link.split("/")[5] for link in page.split('href="http')[1:]} | {path.split("/")[3]}
    assert len(signatures) > 10 and all(len(signature) >= 22 for signature in signatures)
    for name in ("gateway", "agent"):
        log = (stack.state / f"{name}.log").read_text()
        assert not [signature for signature in signatures if signature in log]
