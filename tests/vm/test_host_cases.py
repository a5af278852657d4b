"""The cases of tests/e2e that are tagged `host`, through the emulated host's gateway."""

import test_commands

MODULES = (test_commands,)


def is_tagged(case):
    return any(mark.name == "host" for mark in getattr(case, "pytestmark", []))


globals().update({name: case for module in MODULES for name, case in vars(module).items() if is_tagged(case)})
