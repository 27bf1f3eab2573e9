#!/usr/bin/python3
"""Runs the image build's playbook: it builds a release tarball against this machine's Slurm, without a network, in a folder
of its own.

    python3 -m unittest tests.blueprints.test_install

Needs a configured build (GOODPUT_BUILD, build/) for the tarball, ansible-core and root (for a namespace without network).
"""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import unittest
from typing import Any, Dict, Tuple

from ..suites import FLAGS
from .readme_table import MODULE, TOP

BUILD = os.path.abspath(os.environ.get("GOODPUT_BUILD", os.path.join(TOP, "build")))
# Below the project, so that objects compiled by another suite are reused.
ROOT = os.path.join(TOP, "out", "image")
STAMP = "usr/local/share/slurm-goodput/built-from"


def output(*command: str) -> str:
    return subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, universal_newlines=True,
                          timeout=600).stdout.strip()


def plugin_dir() -> str:
    """The plugin folder of this machine's Slurm."""
    folder, = {os.path.dirname(path) for path in output("dpkg", "-L", "slurm-wlm-basic-plugins").split() if path.endswith("/auth_munge.so")}
    return folder


def run_playbook(**settings: Any) -> Tuple[Dict[str, int], str]:
    given = base64.b64encode(json.dumps(dict({"install_prefix": "/usr", "plugin_dir": plugin_dir()}, **settings)).encode()).decode()
    done = subprocess.run(["unshare", "--net", "ansible-playbook", "-i", "localhost,", "-c", "local",
                           os.path.join(MODULE, "files", "install.yml"), "--extra-vars", "goodput_settings=" + given,
                           "-e", "goodput_root=" + ROOT, "-e", "goodput_live=false"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                          timeout=1800, env=dict(os.environ, HOME=ROOT, ANSIBLE_NOCOLOR="1", CONFIG_SITE=os.path.join(ROOT, "config.site")))
    recap = {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", done.stdout.split("PLAY RECAP")[1])}
    assert (done.returncode == 0) == (recap["failed"] == 0), done.stdout
    return recap, done.stdout


class InstallTest(unittest.TestCase):
    tarball: str

    @classmethod
    def setUpClass(cls) -> None:
        shutil.rmtree(ROOT, ignore_errors=True)
        os.makedirs(ROOT)
        cls.addClassCleanup(shutil.rmtree, ROOT)
        # A copy, because a change of the project during the test causes a new tarball.
        cls.tarball = shutil.copy(output(os.path.join(TOP, "tests/checks/tarball"), BUILD), os.path.join(ROOT, "release.tar.xz"))
        with open(os.path.join(ROOT, "config.site"), "w") as site:
            site.write("CXXFLAGS='%s' CFLAGS='%s' enable_werror=yes\n" % (FLAGS, FLAGS))
        cls.first, cls.said = run_playbook(package_url=cls.tarball, url="http://c-controller:9645", goodput_conf=["heartbeat = 30s"])
        assert cls.first["failed"] == 0, cls.said
        # Other tests here change the folder; these two runs must follow each other.
        cls.second, cls.said_again = run_playbook(package_url=cls.tarball, url="http://c-controller:9645", goodput_conf=["heartbeat = 30s"])
        with open(os.path.join(ROOT, "etc/slurm-goodput/goodput.conf")) as conf:
            cls.conf = conf.read()

    def path(self, name: str) -> str:
        return os.path.join(ROOT, name.lstrip("/"))

    def text(self, name: str) -> str:
        with open(self.path(name)) as file:
            return file.read()

    def test_what_a_node_needs_is_there(self) -> None:
        self.assertGreater(self.first["changed"], 3)
        for name in (plugin_dir() + "/spank_goodput.so", "/usr/local/sbin/goodputd", "/usr/local/bin/sgoodput",
                     "/usr/local/libexec/slurm-goodput/goodput-reader", "/lib/systemd/system/goodputd.service",
                     "/lib/systemd/system/goodputd.socket", "/lib/systemd/system/goodputd-controller.service"):
            self.assertTrue(os.path.isfile(self.path(name)), name)
        self.assertEqual(self.conf.splitlines()[1:], [
            "spool = /var/spool/slurm-goodput", "shared_spool = /opt/apps/.slurm-goodput-spool",
            "socket_path = /run/slurm-goodput/mark.sock", "url = http://c-controller:9645", "heartbeat = 30s"])
        self.assertIn("built for Slurm " + ".".join(output("slurmd", "-V").split()[-1].split(".")[:2]),
                      output(self.path("/usr/local/sbin/goodputd"), "--version"))

    def test_the_image_keeps_no_build(self) -> None:
        self.assertEqual(os.listdir(self.path("/usr/local/src")), ["slurm-goodput.tar"])

    def test_a_second_time_nothing_changes(self) -> None:
        self.assertEqual((self.second["changed"], self.second["failed"]), (0, 0), self.said_again)

    def test_it_fails_before_it_builds_where_slurm_is_not(self) -> None:
        recap, said = run_playbook(package_url=self.tarball, install_prefix="/opt/none")
        self.assertEqual((recap["failed"], recap["changed"]), (1, 0), said)
        self.assertIn("Slurm with its headers in /opt/none (install_prefix)", said)
        recap, said = run_playbook()
        self.assertEqual((recap["failed"], recap["changed"]), (1, 0), said)
        self.assertIn("slurm-goodput needs git_url or package_url", said)

    def test_a_plugin_of_another_release_fails_the_image(self) -> None:
        other = self.path("/opt/other")
        os.makedirs(os.path.join(other, "sbin"))
        self.addCleanup(shutil.rmtree, other)
        os.symlink("/usr/include", os.path.join(other, "include"))
        with open(os.path.join(other, "sbin", "slurmd"), "w") as slurmd:
            slurmd.write("#!/bin/sh\necho slurm 99.05.1\n")
        os.chmod(os.path.join(other, "sbin", "slurmd"), 0o755)
        built = self.text(STAMP)
        self.addCleanup(self.write_stamp, built)
        with open(self.tarball, "rb") as tarball:
            self.write_stamp(hashlib.sha256(tarball.read()).hexdigest() + " for slurm 99.05.1\n")  # another release
        recap, said = run_playbook(package_url=self.tarball, install_prefix=other)
        self.assertEqual(recap["failed"], 1, said)
        self.assertIn("is not a plugin that Slurm 99.05 can load", said)

    def write_stamp(self, text: str) -> None:
        with open(self.path(STAMP), "w") as stamp:
            stamp.write(text)

    def test_a_line_of_goodput_conf_that_is_wrong_fails_the_image(self) -> None:
        recap, said = run_playbook(package_url=self.tarball, goodput_conf=["hartbeat = 30s"])
        self.assertEqual(recap["failed"], 1, said)
        self.assertIn("hartbeat", said)

    def test_a_commit_is_cloned_and_named(self) -> None:
        repo = self.path("/origin")
        self.addCleanup(shutil.rmtree, repo)
        self.addCleanup(shutil.rmtree, self.path("/usr/local/src/slurm-goodput"))
        git = ("git", "-C", repo, "-c", "user.name=t", "-c", "user.email=t@localhost")
        output("git", "init", "-q", repo)
        output(*git, "commit", "-q", "--allow-empty", "-m", "one")
        output(*git, "tag", "v1")
        commit = output(*git, "rev-parse", "v1")
        self.addCleanup(self.write_stamp, self.text(STAMP))
        self.write_stamp("%s for %s\n" % (commit, output("slurmd", "-V")))  # an empty repository cannot be built
        recap, said = run_playbook(git_url="file://" + repo, git_ref="v1")
        self.assertEqual(recap["failed"], 0, said)
        recap, said = run_playbook(git_url="file://" + repo, git_ref="v2")
        self.assertEqual(recap["failed"], 1, said)
        self.assertIn("v2", said)


if __name__ == "__main__":
    unittest.main()
