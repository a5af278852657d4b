"""Signs in as a client and the person at its browser do: discovery, registration, the real page by its forms, tokens. Plain HTTP
alone, so that every step can be seen and varied."""

import base64
import hashlib
import html.parser
import http.client
import json
import secrets
import urllib.parse


class Page(html.parser.HTMLParser):
    """The forms' fields, buttons and links of a page, and where it sends the browser by itself."""

    def __init__(self, text):
        super().__init__()
        self.fields, self.links, self.goes_to, self.text = {}, [], None, text
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "input":
            self.fields[attrs["name"]] = attrs.get("value", "")
        if tag == "a":
            self.links.append(attrs["href"])
        if tag == "meta" and attrs.get("http-equiv") == "refresh":
            self.goes_to = attrs["content"].partition("url=")[2]


class Reply:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode()

    @property
    def json(self):
        return json.loads(self.text)


def person_signs_in(address, key):
    """Where the browser of a person with this key ends up."""
    browser = SignInClient(address)
    page = browser.ask("GET", address[len(browser.origin):])
    browser.cookie = page.headers["Set-Cookie"].partition(";")[0]
    return Page(browser.press(page, key).text).goes_to


class SignInClient:
    def __init__(self, url, redirect="http://127.0.0.1:1/callback", name="An e2e client"):
        self.url = url
        parts = urllib.parse.urlsplit(url)
        self.origin, self.host = f"{parts.scheme}://{parts.netloc}", parts.netloc
        self.redirect, self.name = redirect, name
        self.cookie = None
        self.verifier = secrets.token_urlsafe(48)

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(self.host, timeout=30)
        try:
            connection.request(method, path, body, headers or {})
            return Reply(connection.getresponse())
        finally:
            connection.close()

    def post(self, path, fields, headers=None):
        return self.ask("POST", path, urllib.parse.urlencode(fields),
                        {"Content-Type": "application/x-www-form-urlencoded", **(headers or {})})

    def _path(self, url):
        assert url.startswith(self.origin + "/"), url
        return url[len(self.origin):]

    # --- the client ---

    def discover(self):
        """As RFC 9728 and 8414 have it: from the 401 of the endpoint to the server's metadata."""
        challenge = self.ask("GET", self._path(self.url)).headers["WWW-Authenticate"]
        metadata = challenge.partition('resource_metadata="')[2].partition('"')[0]
        self.resource = self.ask("GET", self._path(metadata)).json
        issuer = self.resource["authorization_servers"][0]
        self.server = self.ask("GET", self._path(issuer + "/.well-known/oauth-authorization-server")).json
        assert self.server["issuer"] == issuer
        return self

    def register(self, **metadata):
        body = {"client_name": self.name, "redirect_uris": [self.redirect], "token_endpoint_auth_method": "none", **metadata}
        reply = self.ask("POST", self._path(self.server["registration_endpoint"]), json.dumps(body),
                         {"Content-Type": "application/json"})
        assert reply.status == 201, reply.text
        self.client = reply.json
        return self

    def authorization_path(self, **changes):
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()
        query = {"response_type": "code", "client_id": self.client["client_id"], "redirect_uri": self.redirect, "state": "st",
                 "scope": "sandbox offline_access", "code_challenge": challenge, "code_challenge_method": "S256",
                 "resource": self.resource["resource"], "prompt": "consent", **changes}
        return self._path(self.server["authorization_endpoint"]) + "?" + urllib.parse.urlencode(query)

    def redeem(self, code):
        return self.post(self._path(self.server["token_endpoint"]), {
            "grant_type": "authorization_code", "code": code, "redirect_uri": self.redirect, "code_verifier": self.verifier,
            "client_id": self.client["client_id"], "resource": self.resource["resource"]})

    def refresh(self, token):
        return self.post(self._path(self.server["token_endpoint"]), {
            "grant_type": "refresh_token", "refresh_token": token, "client_id": self.client["client_id"]})

    def revoke(self, token):
        return self.post(self._path(self.server["revocation_endpoint"]),
                         {"token": token, "client_id": self.client["client_id"]})

    # --- the person ---

    def open_page(self, **changes):
        reply = self.ask("GET", self.authorization_path(**changes))
        self.cookie = (reply.headers["Set-Cookie"] or "").partition(";")[0]
        return reply

    def press(self, page, key="", decision="allow"):
        fields = {**Page(page.text).fields, "key": key, "decision": decision}
        return self.post("/authorize", fields, {"Cookie": self.cookie, "Origin": self.origin})

    def sign_in(self, key):
        """All of it; the token endpoint's answer."""
        self.discover().register()
        answer = self.press(self.open_page(), key)
        back = urllib.parse.urlsplit(Page(answer.text).goes_to)
        assert back._replace(query="").geturl() == self.redirect
        parameters = dict(urllib.parse.parse_qsl(back.query))
        assert parameters["state"] == "st" and parameters["iss"] == self.origin
        reply = self.redeem(parameters["code"])
        assert reply.status == 200, reply.text
        return reply.json
