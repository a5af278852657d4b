"""The sign-in page in a real browser: how it looks, what it says, and that the way back to the client works. Screenshots are left in
the build's artifacts."""

import http.server
import threading
import urllib.parse

import pytest
from browser import Browser, what_is_missing
from sign_in import SignInClient
from stack import BUILD, wait_for

pytestmark = pytest.mark.skipif(bool(what_is_missing()), reason=what_is_missing())
PICTURES = BUILD / "artifacts" / "sign-in"


@pytest.fixture(scope="module")
def browser():
    with Browser() as running:
        yield running


class Callback:
    """A client's own address, which sends the browser on to another origin, as some do."""

    def __init__(self):
        self.seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(handler):  # noqa: N805
                self.seen.append(handler.path)
                first = handler.path.startswith("/callback")
                handler.send_response(302 if first else 200)
                if first:
                    handler.send_header("Location", f"http://127.0.0.1:{self.port}/done")
                handler.send_header("Content-Length", "0")
                handler.end_headers()

            def log_message(handler, *_):  # noqa: N805
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://localhost:{self.port}/callback"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def callback():
    running = Callback()
    yield running
    running.close()


@pytest.fixture
def client(stack, callback):
    return SignInClient(stack.url, redirect=callback.url, name="An app <b>with</b> a rather long name").discover().register()


def page_of(client, **changes):
    return client.origin + client.authorization_path(**changes)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_and_nothing_of_it_is_refused(browser, client, width, scheme):
    browser.show_as(width, 844, scheme)
    browser.open(page_of(client))
    browser.screenshot(PICTURES / f"page-{width}-{scheme}.png")
    assert browser.run("return document.documentElement.scrollWidth") <= width
    small = browser.run("return [...document.querySelectorAll('button,input:not([type=hidden],[hidden])')]"
                        ".filter(e => e.getBoundingClientRect().height < 44).length")
    assert small == 0, "too small for a thumb"
    background = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(244, 245, 247)", "dark": "rgb(16, 20, 24)"}[scheme], "the policy must let our style in"
    assert browser.complaints() == []


def test_a_screen_reader_gets_all_of_it(browser, client):
    browser.show_as(390, 844, "light")
    browser.open(page_of(client))
    said = browser.accessible_tree()
    assert ("heading", "An app <b>with</b> a rather long name wants to use your sandboxes") in said
    assert ("textbox", "Access key") in said
    assert {("button", "Allow"), ("button", "Deny")} <= set(said)
    assert any(role == "main" for role, _ in said)
    browser.type("#key", "sk-wrong")
    browser.click("[value=allow]")
    browser.screenshot(PICTURES / "wrong-key-390.png")
    assert any(role == "alert" for role, _ in browser.accessible_tree())


def test_allow_takes_the_browser_back_to_the_client_and_on(browser, stack, client, callback):
    browser.show_as(1280, 844, "light")
    browser.open(page_of(client))
    browser.type("#key", stack.key)
    browser.click("[value=allow]")
    wait_for("the client's own next page", lambda: browser.url.endswith("/done"), 10)
    back = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(callback.seen[0]).query))
    assert back["iss"] == client.origin
    assert client.redeem(back["code"]).status == 200
    assert browser.complaints() == []


def test_deny_takes_the_browser_back_without_a_code(browser, client, callback):
    browser.open(page_of(client))
    browser.click("[value=deny]")
    wait_for("the client's own next page", lambda: browser.url.endswith("/done"), 10)
    assert "error=access_denied" in callback.seen[0] and "code=" not in callback.seen[0]


def test_a_wrong_request_stays_on_our_page(browser, client, callback):
    browser.show_as(390, 844, "light")
    browser.open(page_of(client, code_challenge_method="plain"))
    browser.screenshot(PICTURES / "wrong-request-390.png")
    assert browser.url.startswith(client.origin) and callback.seen == []
    browser.click("a.button")
    wait_for("the client's own next page", lambda: browser.url.endswith("/done"), 10)
    assert "error=invalid_request" in callback.seen[0]


HOSTILE = """"><script>document.title='taken'</script><img src=x onerror="document.title='taken'">"""


@pytest.mark.parametrize("changes", [
    {}, {"state": HOSTILE, "scope": HOSTILE}, {"code_challenge_method": HOSTILE}, {"response_type": HOSTILE}, {"resource": HOSTILE},
    {"client_id": HOSTILE}, {"redirect_uri": "javascript:document.title='taken'"}, {"redirect_uri": HOSTILE}])
def test_nothing_that_a_client_says_is_more_than_text(browser, stack, callback, changes):
    client = SignInClient(stack.url, redirect=callback.url, name=HOSTILE).discover().register()
    browser.open(page_of(client, **changes))

    def expect_untouched():
        assert browser.run("return document.querySelectorAll('script,img').length") == 0
        assert browser.run("return document.title") != "taken"
        # A refusal's status is one that it reports, too.
        assert [said for said in browser.complaints() if "with a status of 4" not in said] == []
    expect_untouched()
    if browser.run("return document.querySelector('#key') !== null"):
        browser.type("#key", HOSTILE)
        browser.click("[value=allow]")
        wait_for("the page that says no", lambda: browser.run("return document.querySelector('[role=alert]') !== null"), 10)
        expect_untouched()
