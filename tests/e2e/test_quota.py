"""What deploy/quota.py does where it can set no limits, and that it and the agent mean the same projects. tests/vm has a host with quotas."""

import os
import re
import runpy
import subprocess

import pytest
from stack import ROOT

QUOTA = ROOT / "deploy" / "quota.py"


@pytest.fixture(scope="module")
def quota():
    return runpy.run_path(str(QUOTA))


def test_it_and_the_agent_mean_the_same_projects(quota):
    limits = (ROOT / "common" / "limits.h").read_text()
    for name, value in (("kFirstProject", quota["FIRST_PROJECT"]), ("kProjects", quota["PROJECTS"]),
                        ("kBytesPerName", quota["BYTES_PER_NAME"])):
        (found,) = re.findall(rf"{name} = (\S+);", limits)
        assert int(found.replace("'", ""), 0) == value, name


@pytest.mark.parametrize(("text", "size"), [("", 0), ("SANDBOX_DISK=64m", 64 << 20), ("#SANDBOX_DISK=1\nSANDBOX_DISK = \"2G\"", 2 << 30),
                                            ("SANDBOX_DISK=4096", 4096), ("SANDBOX_DISK=much", 0), ("PRINCIPAL_DISK=5g", 0)])
def test_the_limit_is_the_agents_setting(quota, tmp_path, text, size):
    (tmp_path / "agent.env").write_text(text + "\n")
    assert quota["limit"](tmp_path / "agent.env") == size


@pytest.mark.parametrize(("size", "blocks", "names"), [(0, 0, 0), (1, 4, 1), (64 << 20, 64 << 10, 16384), (3_000_000_000, 2929684, 732421)])
def test_no_limit_is_more_than_was_set_however_blocks_are_counted(quota, monkeypatch, size, blocks, names):
    given = []
    monkeypatch.setitem(quota["set_limits"].__globals__, "quotactl", lambda folder, command, project, quota: given.append(quota))
    quota["set_limits"](-1, size)
    last = given[-1]
    assert size == 0 or (last.hard_blocks, last.hard_names) == (blocks, names)


def test_a_file_system_without_quotas_is_named_and_no_failure(tmp_path):
    (tmp_path / "agent.env").write_text("SANDBOX_DISK=64m\n")
    done = subprocess.run(["python3", "-I", QUOTA, tmp_path / "agent.env", "/proc/sys"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "no project quotas" in done.stdout, done


def test_a_link_in_the_storages_place_leads_nowhere(quota, tmp_path):
    (tmp_path / "here").symlink_to("/etc")
    with pytest.raises(OSError):
        quota["open_storage"](tmp_path / "here")
    folder = quota["open_storage"](tmp_path / "not" / "yet")
    assert os.path.samestat(os.fstat(folder), tmp_path.stat())
    os.close(folder)
