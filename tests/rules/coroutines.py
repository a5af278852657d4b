"""What g++ 12 compiles wrongly in coroutines: a capturing closure that is a temporary inside a co_await expression (it is destroyed
twice), and a co_await inside a condition (its first resumption traps). Name the value first."""

import pathlib
import re
import sys

CAPTURE = re.compile(r"\[\s*[^\]\s][^\]]*\]\s*(\([^)]*\))?\s*(mutable\s*)?(noexcept\s*)?(->\s*[\w:<>]+\s*)?\{")

CONDITION = re.compile(r"\b(if|while|switch)\s*(\()")


def conditions(text):
    """Each condition, without the statement before it (`if (init; condition)`), and the line on which it starts."""
    for found in CONDITION.finditer(text):
        depth, end = 1, found.end()
        while end < len(text) and depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        yield text.count("\n", 0, found.start()) + 1, text[found.end():end - 1].rpartition(";")[2]


def statements(text):
    """Each co_await with the rest of its statement, and the line on which it starts."""
    text = re.sub(r"//[^\n]*", "", text)
    for found in re.finditer(r"\bco_await\b", text):
        depth, end = 0, found.end()
        while end < len(text):
            char = text[end]
            depth += char in "([{"
            depth -= char in ")]}"
            if depth < 0 or (char == ";" and depth == 0):
                break
            end += 1
        yield text.count("\n", 0, found.start()) + 1, text[found.end():end]


root = pathlib.Path(sys.argv[1])
found = []
for folder in ("common", "agent", "gateway", "tests"):
    for path in sorted((root / folder).rglob("*")):
        if path.suffix in (".h", ".cc"):
            text = re.sub(r"//[^\n]*", "", path.read_text())
            found += [f"{path.relative_to(root)}:{line}: co_await inside a condition"
                      for line, condition in conditions(text) if "co_await" in condition]
            found += [f"{path.relative_to(root)}:{line}: a capturing lambda inside a co_await expression"
                      for line, statement in statements(path.read_text()) if CAPTURE.search(statement)]
print("\n".join(found))
sys.exit(bool(found))
