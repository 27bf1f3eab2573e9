#!/usr/bin/python3
"""The RPM spec: rpmlint accepts it, and rpmbuild's packages contain the same files as Debian's.

    GOODPUT_BUILD=build python3 -m unittest tests.packages.test_rpm

Nothing is compiled or installed, since the host is not an RPM system.
"""

import glob
import os
import shutil
import subprocess
import unittest
from typing import Dict, List, Set

from .built import PLACE, TOP, build, output, slurm_release, version

SPEC = os.path.join(TOP, "tools/data/rpm/slurm-goodput.spec")
PLACE_OF_RPMS = os.path.join(PLACE, "rpm")

FILES: Dict[str, Set[str]] = {
    "slurm-goodput-plugin": {
        "/usr/lib64/slurm/spank_goodput.so",
        "/usr/share/man/man8/spank_goodput.8",
    },
    "goodputd": {
        "/etc/slurm-goodput",
        "/etc/slurm-goodput/goodput.conf",
        "/usr/lib/systemd/system/goodput-cloud.service",
        "/usr/lib/systemd/system/goodput-events.service",
        "/usr/lib/systemd/system/goodput-fleet.service",
        "/usr/lib/systemd/system/goodput-nvml.socket",
        "/usr/lib/systemd/system/goodput-nvml@.service",
        "/usr/lib/systemd/system/goodput-telemetry.service",
        "/usr/lib/systemd/system/goodputd-controller.service",
        "/usr/lib/systemd/system/goodputd-kernel.socket",
        "/usr/lib/systemd/system/goodputd.service",
        "/usr/lib/systemd/system/goodputd.socket",
        "/usr/lib/tmpfiles.d/slurm-goodput.conf",
        "/usr/libexec/slurm-goodput/goodput-nvml",
        "/usr/libexec/slurm-goodput/goodput-reader",
        "/usr/sbin/goodputd",
        "/usr/share/man/man5/goodput.conf.5",
        "/usr/share/man/man8/goodputd.8",
        "/usr/share/slurm-goodput/apparmor",
        "/usr/share/slurm-goodput/apparmor/goodputd",
        "/usr/share/slurm-goodput/grafana",
        "/usr/share/slurm-goodput/grafana/slurm-goodput-fleet.json",
        "/usr/share/slurm-goodput/grafana/slurm-goodput.json",
        "/usr/share/slurm-goodput/prometheus",
        "/usr/share/slurm-goodput/prometheus/slurm-goodput.rules.yml",
        "/usr/share/slurm-goodput/selinux",
        "/usr/share/slurm-goodput/selinux/goodputd.cil",
        "/var/lib/slurm-goodput",
        "/var/spool/slurm-goodput",
    },
    "sgoodput": {
        "/usr/bin/sgoodput",
        "/usr/include/slurm-goodput",
        "/usr/include/slurm-goodput/goodput.h",
        "/usr/libexec/slurm-goodput",
        "/usr/libexec/slurm-goodput/goodput-ask",
        "/usr/libexec/slurm-goodput/goodput-otlp",
        "/usr/libexec/slurm-goodput/goodput-fleet-database",
        "/usr/libexec/slurm-goodput/goodput-google-cloud",
        "/usr/libexec/slurm-goodput/goodput-mark",
        "/usr/libexec/slurm-goodput/goodput-post",
        "/usr/libexec/slurm-goodput/goodput-telemetry",
        "/usr/share/bash-completion/completions/sgoodput",
        "/usr/share/fish",
        "/usr/share/fish/vendor_completions.d",
        "/usr/share/fish/vendor_completions.d/sgoodput.fish",
        "/usr/share/zsh",
        "/usr/share/zsh/site-functions",
        "/usr/share/zsh/site-functions/_sgoodput",
        "/usr/share/man/man1/sgoodput.1",
        "/usr/share/slurm-goodput",
        "/usr/share/slurm-goodput/advise.schema.json",
        "/usr/share/slurm-goodput/clients",
        "/usr/share/slurm-goodput/clients/goodput.py",
        "/usr/share/slurm-goodput/diff.schema.json",
        "/usr/share/slurm-goodput/event.schema.json",
        "/usr/share/slurm-goodput/now.schema.json",
        "/usr/share/slurm-goodput/report.schema.json",
        "/usr/share/slurm-goodput/sgoodput.schema.json",
        "/usr/share/slurm-goodput/sql.schema.json",
    },
}


def rpm(name: str) -> str:
    (path,) = glob.glob(os.path.join(PLACE_OF_RPMS, "RPMS", "*", name + "-[0-9]*.rpm"))
    return path


def ask(name: str, *what: str) -> List[str]:
    return output("rpm", "-qp", *what, rpm(name)).splitlines()


def setUpModule() -> None:
    build()
    shutil.rmtree(PLACE_OF_RPMS, ignore_errors=True)
    os.makedirs(PLACE_OF_RPMS)
    os.symlink("../source", os.path.join(PLACE_OF_RPMS, "slurm-goodput-" + version()))
    for stage in ("-bi", "-bb"):
        done = subprocess.run(["rpmbuild", stage, "--short-circuit", "--nodeps", "--load", os.path.join(TOP, "tests/packages/rpm-macros"),
                               "--define", "_topdir " + PLACE_OF_RPMS, "--define", "_builddir " + PLACE_OF_RPMS, "--define", "_libdir /usr/lib64",
                               "--define", "built build-deb", "--define", "_binary_payload w1.gzdio", SPEC], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise AssertionError("rpmbuild failed\n" + done.stdout[-4000:])


class RpmTest(unittest.TestCase):
    def test_rpmlint_accepts_the_spec(self) -> None:
        done = subprocess.run(["rpmlint", "-r", os.path.join(TOP, "tools/data/rpm/rpmlintrc"), SPEC], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("1 specfiles checked; 0 errors, 0 warnings", done.stdout)

    def test_each_file_is_in_the_package_it_belongs_to(self) -> None:
        for name, wanted in FILES.items():
            with self.subTest(package=name):
                files = set(ask(name, "-l"))
                aside = ("/usr/share/doc/", "/usr/share/licenses/", "/usr/lib/.build-id")
                # Some hosts compress manuals.
                plain = {path[:-3] if path.startswith("/usr/share/man/") and path.endswith(".gz") else path for path in files}
                self.assertEqual({path for path in plain if not path.startswith(aside)}, wanted)

    def test_the_packages_have_the_version_of_the_sources(self) -> None:
        for name in FILES:
            self.assertEqual(ask(name, "--qf", "%{VERSION}"), [version()])

    def test_the_plugin_is_for_the_slurm_it_was_built_for(self) -> None:
        major, minor = slurm_release()
        needs = [need for need in ask("slurm-goodput-plugin", "--requires") if need.startswith("slurm")]
        self.assertRegex(" ".join(needs), r"^slurm\S* < %d\.%02d slurm\S* >= %d\.%02d$|^slurm\S* >= %d\.%02d slurm\S* < %d\.%02d$" % (
            major, minor + 1, major, minor, major, minor, major, minor + 1))

    def test_what_operators_change_and_what_was_recorded_is_kept(self) -> None:
        self.assertEqual(ask("goodputd", "-c"), ["/etc/slurm-goodput/goodput.conf"])
        owners = {line.split()[0]: line.split()[1:] for line in ask("goodputd", "--qf", "[%{FILENAMES} %{FILEMODES:octal} %{FILEUSERNAME}\\n]")}
        self.assertEqual(owners["/var/lib/slurm-goodput"], ["40750", "goodput"])
        self.assertEqual(owners["/var/spool/slurm-goodput"], ["40700", "root"])

    def test_the_unit_may_trace_on_a_kernel_as_it_comes(self) -> None:
        unit = subprocess.run("rpm2archive - <'%s' | tar -xzO --wildcards '*/goodputd.service'" % rpm("goodputd"), shell=True, check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        self.assertRegex(unit, r"(?m)^CapabilityBoundingSet=.*\bCAP_SYS_ADMIN\b")

    def test_an_upgrade_restarts_daemons_and_leaves_the_socket(self) -> None:
        scripts = "\n".join(ask("goodputd", "--scripts"))
        after = scripts.split("postuninstall", 1)[1]
        self.assertIn("try-restart goodputd.service goodputd-controller.service "
                      "goodput-cloud.service goodput-events.service goodput-fleet.service goodput-telemetry.service", after)
        self.assertNotIn("goodputd.socket", after)


if __name__ == "__main__":
    unittest.main()
