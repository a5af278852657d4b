"""Ages and sizes are told from what a file system says: the same on each that people use."""

import os
import pathlib
import shutil
import subprocess

import pytest

BUILD = pathlib.Path(os.environ.get("SANDKEEP_BUILD", "build/ci")).resolve()
PROGRAM = BUILD / "tests/unit/agent/file_process_test"
OF_THE_ENGINE = BUILD / "tests/unit/agent/runtime_test"
SIZE = 512 << 20


@pytest.fixture(params=["ext4", "xfs", "btrfs"])
def mounted(request, tmp_path):
    """A file system of this kind in a file."""
    kind, *options = request.param.split()
    make = shutil.which(f"mkfs.{kind}")
    if make is None:
        pytest.skip(f"there is no mkfs.{kind}")
    image = tmp_path / "image"
    with open(image, "wb") as file:
        file.truncate(SIZE)
    subprocess.run([make, "-q", *options, image], check=True, capture_output=True)
    folder = tmp_path / "mounted"
    folder.mkdir()
    done = subprocess.run(["mount", "-o", "loop", image, folder], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no {request.param} can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def run_on(mounted, program, tests):
    for folder in (mounted, *mounted.parents):
        if folder.stat().st_uid == os.geteuid() and str(folder) not in ("/", "/tmp"):
            folder.chmod(0o755)
    done = subprocess.run([program, f"--gtest_filter={tests}"], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "TMPDIR": str(mounted)})
    assert done.returncode == 0 and "[  PASSED  ]" in done.stdout, done.stdout[-3000:] + done.stderr[-1000:]
    assert "SKIPPED" not in done.stdout, done.stdout[-3000:]


def test_trees_are_measured_and_old_ones_deleted(mounted):
    run_on(mounted, PROGRAM, "MeasurementTest.*:FileProcessTest.*")


@pytest.mark.parametrize("mounted", ["ext4 -O project", "xfs"], indirect=True)
def test_projects_are_given_and_inherited(mounted):
    run_on(mounted, OF_THE_ENGINE, "DiskQuotaTest.*")
