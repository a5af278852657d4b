"""The table of settings and the env examples say the same, line for line."""

import pathlib
import re
import sys

ROW = re.compile(r'^SETTING\(\s*(\w+), (\w+), \w+, \w+, "([^"]*)",\s*"([^"]*)",', re.MULTILINE)
LINE = re.compile(r"^# ?([A-Z][A-Z0-9_]*)=(.*)$", re.MULTILINE)

root = pathlib.Path(sys.argv[1])
table = {name: (process, default) for process, name, default, _ in ROW.findall((root / "common/settings.inc").read_text())}
found = []
for process in ("agent", "gateway"):
    example = (root / f"deploy/{process}.env.example").read_text()
    shown = dict(LINE.findall(example))
    expected = {name for name, (owner, _) in table.items() if owner in (process, "both")}
    found += [f"deploy/{process}.env.example lacks {name}" for name in sorted(expected - shown.keys())]
    found += [f"deploy/{process}.env.example has {name}, which {process} doesn't read" for name in sorted(shown.keys() - expected)]
    for name in sorted(expected & shown.keys()):
        default = table[name][1]
        if default and shown[name] != default:
            found.append(f"deploy/{process}.env.example: {name}={shown[name]}, but the default is {default}")
readme = (root / "README.md").read_text() if (root / "README.md").exists() else ""
found += [f"README.md doesn't mention {name}" for name in sorted(table) if name not in readme]
print("\n".join(found))
sys.exit(bool(found))
