"""The images' build has what the build always needs: whatever CMakeLists.txt adds without a condition, the Dockerfile copies."""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
added = re.findall(r"^add_subdirectory\((\S+)\)", (root / "CMakeLists.txt").read_text(), re.M)
copied = re.findall(r"^COPY (\S+?)/? /src/", (root / "Dockerfile").read_text(), re.M)
found = [f"CMakeLists.txt: {folder} isn't copied by the Dockerfile" for folder in added if folder not in copied]
if not added:
    found.append("CMakeLists.txt: no folder is added")
print("\n".join(found))
sys.exit(bool(found))
