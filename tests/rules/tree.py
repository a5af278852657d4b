"""The tree stays what a stranger expects: the fixed top level, names in snake_case, files of one noun's size."""

import pathlib
import re
import subprocess
import sys

TOP = {"CMakeLists.txt", "CMakePresets.json", "Dockerfile", "README.md", "ARCHITECTURE.md", "SECURITY.md", "CONTRIBUTING.md",
       "CHANGELOG.md", "LICENSE", ".ci", ".clang-format", ".clang-tidy", ".gitignore", ".dockerignore", "proto", "common", "agent",
       "gateway", "deploy", "tests"}
MOST_LINES = 450
# A table, however long: every limit stands there.
TABLES = ("common/limits.h",)
HOME_PATHS = re.compile(r"(?<![\w.])/(home|work|root|Users)/[a-z]")

root = pathlib.Path(sys.argv[1])
listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True, text=True, check=True)
files = [pathlib.Path(name) for name in listed.stdout.splitlines() if (root / name).is_file()]
found = [f"{name}: not at the top level" for name in sorted({path.parts[0] for path in files} - TOP)]
for path in files:
    if path.suffix in (".cc", ".h", ".py", ".sh", ".proto"):
        text = (root / path).read_text()
        if not re.fullmatch(r"[a-z0-9_]+", path.stem):
            found.append(f"{path}: not in snake_case")
        if path.suffix in (".cc", ".h") and str(path) not in TABLES and text.count("\n") > MOST_LINES:
            found.append(f"{path}: {text.count(chr(10))} lines: more than one noun?")
        if "tests/rules/" not in str(path):
            found += [f"{path}:{number}: a path of one machine" for number, line in enumerate(text.splitlines(), 1)
                      if HOME_PATHS.search(line)]
print("\n".join(found))
sys.exit(bool(found))
