"""A browser as clients open one: signs the person in on the page and goes where it sends the browser."""

import os
import pathlib
import sys
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from sign_in import person_signs_in  # noqa: E402

urllib.request.urlopen(person_signs_in(sys.argv[-1], os.environ["PERSON_KEY"]), timeout=30).close()
