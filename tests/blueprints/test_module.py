#!/usr/bin/python3
"""The Cluster Toolkit module: its HCL is parsed by HCL's own parser, its documents are compared with each other, and its
playbooks are run.

    python3 -m unittest tests.blueprints.test_module

Needs npm, ansible-core, ansible-lint and yamllint; no cloud. Terraform and gcluster are not used.
"""

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from typing import Any, Dict, List, Optional

import yaml

from . import readme_table
from .readme_table import HERE, MODULE, NPM, TOP
PACKAGES = ("@cdktf/hcl2json@0.21.0", "@cdktf/hcl-tools@0.21.0")
# The keys of metadata.yaml that Cluster Toolkit reads, as in its own modules.
METADATA = {"spec": {"requirements": {"services": list}}, "ghpc": {"validators": list}}
# Names that would clash with values that it sets automatically.
RESERVED = {"compute_startup_script", "project_id", "labels", "region", "zone", "deployment_name"}
PYXIS = "required /usr/local/lib/slurm/spank_pyxis.so\n"


def hcl(folder: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["node", os.path.join(HERE, "hcl.js"), os.path.join(NPM, "node_modules"), folder],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=120)


class ModuleTest(unittest.TestCase):
    files: Dict[str, Any]

    @classmethod
    def setUpClass(cls) -> None:
        if not os.path.isdir(os.path.join(NPM, "node_modules", "@cdktf", "hcl-tools")):
            os.makedirs(NPM, exist_ok=True)
            subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", NPM, *PACKAGES], check=True,
                           stdin=subprocess.DEVNULL, timeout=300)
        read = hcl(MODULE)
        assert read.returncode == 0, read.stderr
        cls.files = json.loads(read.stdout)

    def setUp(self) -> None:
        self.dir = tempfile.mkdtemp(prefix="goodput-module-")
        self.addCleanup(shutil.rmtree, self.dir)

    def text(self, *names: str) -> str:
        with open(os.path.join(MODULE, *names)) as file:
            return file.read()

    def variables(self) -> Dict[str, Any]:
        return dict(self.files["variables.tf"]["variable"])

    def outputs(self) -> Dict[str, Any]:
        return dict(self.files["outputs.tf"]["output"])

    # --- HCL

    def test_a_broken_module_is_refused_with_its_place(self) -> None:
        for name, text, said in (("main.tf", 'locals {\n  a = \n}\n', r"main\.tf:2"),
                                 ("variables.tf", 'variable "x" {\n', r"variables\.tf:1"),
                                 ("outputs.tf", 'output "x" {\n    value = 1\n}\n', r"outputs\.tf: not as terraform fmt")):
            folder = os.path.join(self.dir, name)
            os.mkdir(folder)
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
            read = hcl(folder)
            self.assertEqual((read.returncode, read.stdout), (1, ""))
            self.assertRegex(read.stderr, said)

    def test_every_variable_is_described_typed_and_used(self) -> None:
        code = self.text("main.tf") + self.text("outputs.tf")
        for name, (variable,) in self.variables().items():
            self.assertTrue(variable.get("description"), name)
            self.assertTrue(variable.get("type"), name)
            self.assertIn("var." + name, code, name)
            self.assertIn("default", variable, name + ": an operator adds three lines, not more")

    def test_nothing_is_used_that_is_not_declared(self) -> None:
        code = "".join(self.text(name) for name in sorted(self.files))
        self.assertEqual(set(re.findall(r"\bvar\.(\w+)", code)), set(self.variables()))
        local = set(self.files["main.tf"]["locals"][0])
        self.assertLessEqual(set(re.findall(r"\blocal\.(\w+)", code)), local)

    def test_outputs_are_those_promised_and_clash_with_nothing(self) -> None:
        self.assertEqual(set(self.outputs()), {"install_runner", "controller_runner", "runners", "plugstack_line", "instructions"})
        self.assertEqual(set(self.outputs()) & RESERVED, set())
        self.assertEqual(set(self.variables()) & RESERVED, set())
        self.assertEqual(self.files["versions.tf"]["terraform"][0]["required_version"], ">= 1.12.2")

    def test_runners_have_what_a_startup_script_takes(self) -> None:
        local = self.files["main.tf"]["locals"][0]
        types = {}
        for name in ("install_runner", "controller_runner"):
            self.assertEqual(set(local[name]), {"type", "destination", "content", "args"})
            file, = re.findall(r'\$\{path\.module\}/(files/\w+\.\w+)', local[name]["content"])
            self.assertTrue(os.path.exists(os.path.join(MODULE, file)))
            types[local[name]["destination"]] = (local[name]["type"], os.path.splitext(file)[1])
        self.assertEqual(set(types.values()), {("ansible-local", ".yml"), ("shell", ".sh")})

    def test_the_controllers_runner_wants_no_ansible(self) -> None:
        # The toolkit's startup-script module installs Ansible with apt-get if any runner is ansible-local.
        self.assertEqual(self.files["main.tf"]["locals"][0]["controller_runner"]["type"], "shell")

    def test_what_the_module_gives_a_runner_is_what_the_runner_knows(self) -> None:
        local = self.files["main.tf"]["locals"][0]
        given = set(local["settings"])
        play, = yaml.safe_load(self.text("files", "install.yml"))
        defaults = set(play["vars"]["goodput_defaults"])
        used = set(re.findall(r"\bgoodput\.(\w+)", self.text("files", "install.yml")))
        self.assertEqual(used - {"conf", "db", "tar"}, defaults & used)  # goodput.conf, goodput.db, slurm-goodput.tar
        self.assertLessEqual(defaults, given)
        configured = set(re.findall(r"^    \[(\w+)\]=", self.text("files", "configure.sh"), re.M))
        self.assertEqual(set(local["configured"]), configured)
        self.assertEqual(set(re.findall(r"\bgiven\[(\w+)\]", self.text("files", "configure.sh"))) - {"name"}, configured)
        self.assertEqual(given - defaults - configured, set())

    def test_the_image_gets_the_packages_the_build_needs(self) -> None:
        with open(os.path.join(TOP, "tools", "deps")) as file:
            build = set(re.findall(r"\bbuild=\((.*?)\)", file.read(), re.S)[0].split())
        play, = yaml.safe_load(self.text("files", "install.yml"))
        apt, = [task["ansible.builtin.apt"]["name"] for task in play["tasks"] if "ansible.builtin.apt" in task]
        # Slurm is already installed; git fetches, tar unpacks and nm lists symbols.
        slurm = {name for name in build if "slurm" in name}
        self.assertEqual(set(apt) - {"git", "xz-utils", "binutils"}, build - slurm)

    # --- the dashboard

    def test_the_dashboard_is_only_there_if_it_is_asked_for(self) -> None:
        (variable,) = self.variables()["cloud_monitoring_dashboard"]
        self.assertIs(variable["default"], False)
        self.assertEqual(set(self.files["main.tf"]["resource"]), {"google_monitoring_dashboard"})
        ((resource,),) = self.files["main.tf"]["resource"]["google_monitoring_dashboard"].values()
        self.assertEqual(resource["count"], "${var.cloud_monitoring_dashboard ? 1 : 0}")
        self.assertEqual(resource["dashboard_json"], '${file("${path.module}/files/dashboard.json")}')
        self.assertNotIn("project", resource, "it is the provider's, which the toolkit sets")
        self.assertEqual(set(self.files["versions.tf"]["terraform"][0]["required_providers"][0]), {"google"})

    def written_metrics(self) -> Dict[str, str]:
        """The metrics of `sgoodput metrics --cloud-monitoring` and where their code names labels."""
        with open(os.path.join(TOP, "tools", "accounting", "metrics", "workload_series.cc")) as file:
            code = file.read()
        self.assertIn('"compute.googleapis.com/workload/"', code)
        return {name: code for name in re.findall(r'\bAdd\(\s*"(\w+)"', code) + re.findall(r'kPrefix, "(\w+)"', code)}

    def test_the_dashboard_shows_metrics_that_are_written(self) -> None:
        tiles = json.loads(self.text("files", "dashboard.json"))["mosaicLayout"]["tiles"]
        queries = [one["timeSeriesQuery"]["prometheusQuery"] for tile in tiles for one in tile["widget"]["xyChart"]["dataSets"]]
        written = self.written_metrics()
        shown = set()
        for query in queries:
            selectors = re.findall(r"([\w:]+)\{([^}]*)\}", query)
            self.assertTrue(selectors, query)
            for metric, labels in selectors:
                prefix, _, name = metric.partition(":workload_")
                self.assertEqual((prefix, name in written), ("compute_googleapis_com", True), metric)
                shown.add(name)
                found = dict(re.findall(r'(\w+)=~?"([^"]*)"', labels))
                self.assertEqual(found.pop("monitored_resource"), "compute.googleapis.com/Workload", query)
                for label, value in found.items():
                    self.assertIn('"%s"' % label, written[name], query)
                    for one in value.split("|"):
                        self.assertTrue(one == "86400" or '"%s"' % one in written[name], query)
            self.assertEqual(query.count("("), query.count(")"), query)
        self.assertEqual(set(written) - shown, set(), "a metric that nobody sees")

    def test_the_tiles_of_the_dashboard_do_not_overlap(self) -> None:
        layout = json.loads(self.text("files", "dashboard.json"))["mosaicLayout"]
        self.assertLessEqual(layout["columns"], 48)
        taken = set()
        for tile in layout["tiles"]:
            cells = {(x, y) for x in range(tile["xPos"], tile["xPos"] + tile["width"]) for y in range(tile["yPos"], tile["yPos"] + tile["height"])}
            self.assertFalse(cells & taken, tile["widget"]["title"])
            self.assertLessEqual(max(x for x, _ in cells), layout["columns"] - 1)
            taken |= cells

    # --- documents

    def test_metadata_has_the_keys_that_are_read(self) -> None:
        def check(value: Any, shape: Any, where: str) -> None:
            if isinstance(shape, dict):
                self.assertEqual(set(value), set(shape), where)
                for key, inner in shape.items():
                    check(value[key], inner, where + "." + key)
            else:
                self.assertIsInstance(value, shape, where)
        check(yaml.safe_load(self.text("metadata.yaml")), METADATA, "metadata")

    def refused(self, settings: Dict[str, Optional[str]]) -> List[str]:
        """Implements the validators `regex` and `conditional` of `gcluster create`: a string must match, settings that are not
        given are ignored, and an empty trigger_value matches a setting that is not given."""
        said = []
        for rule in yaml.safe_load(self.text("metadata.yaml"))["ghpc"]["validators"]:
            inputs = rule["inputs"]
            if rule["validator"] == "regex":
                self.assertEqual(set(inputs), {"vars", "pattern"})
                pattern = inputs["pattern"].replace("[:space:]", r"\s").replace("$", r"\Z")
                bad = any(settings.get(name) is not None and not re.search(pattern, settings[name] or "") for name in inputs["vars"])
            else:
                self.assertEqual((rule["validator"], set(inputs)), ("conditional", {"trigger", "trigger_value", "dependent"}))
                bad = (settings.get(inputs["trigger"]) or "") == inputs["trigger_value"] and not settings.get(inputs["dependent"])
            said += [rule["error_message"]] * bad
        return said

    def test_create_refuses_what_terraform_would_refuse_later(self) -> None:
        good: Dict[str, Optional[str]] = {"git_url": "https://host/slurm-goodput"}
        self.assertEqual(self.refused(good), [])
        self.assertEqual(self.refused({"package_url": "/slurm-goodput.tar.xz"}), [])
        self.assertEqual(self.refused(dict(good, listen="off", database_dir="/d")), [])
        self.assertEqual(self.refused(dict(good, listen="[::1]:9645")), [])
        for name, value in (("listen", "localhost"), ("listen", "localhost:9645"), ("listen", "9645"), ("database_dir", "goodput"),
                            ("spool_dir", "~/spool"), ("git_url", "git@host:repo"), ("package_url", "release.zip"),
                            ("slurm_cluster_name", "A3")):
            said, = self.refused(dict(good, **{name: value}))
            self.assertTrue(said.startswith(name + " must be"), said)
        for nothing in ({}, {"git_url": None}, {"git_url": None, "package_url": None}):
            self.assertEqual(self.refused(nothing), ["Set git_url or package_url: where to get slurm-goodput."])

    def test_metadata_has_the_rules_of_the_variables(self) -> None:
        rules = {}
        for rule in yaml.safe_load(self.text("metadata.yaml"))["ghpc"]["validators"]:
            if rule["validator"] == "regex":
                name, = rule["inputs"]["vars"]
                rules[name] = (rule["inputs"]["pattern"], rule["error_message"])
        of_terraform = {}
        for name, (variable,) in self.variables().items():
            if "validation" in variable:
                validation, = variable["validation"]
                pattern, = re.findall(r'regex\("((?:[^"\\]|\\.)*)"', validation["condition"])
                of_terraform[name] = (pattern.replace("\\\\", "\\"), validation["error_message"])
        self.assertEqual(rules, of_terraform)
        # Every setting and path must have one; of a bool, the type is the rule.
        switches = {name for name, (variable,) in self.variables().items() if variable["type"] == "${bool}"}
        self.assertEqual(set(self.variables()) - set(rules), switches)

    def test_what_documents_wire_exists(self) -> None:
        found: List[str] = []
        for folder, _, names in os.walk(os.path.join(TOP, "blueprints")):
            for name in names:
                with open(os.path.join(folder, name)) as file:
                    found += re.findall(r"\$\(goodput\.(\w+)\)", file.read())
        self.assertTrue(found)
        self.assertLessEqual(set(found), set(self.outputs()))

    def test_the_readme_has_the_variables_and_outputs_as_they_are(self) -> None:
        self.assertIn(readme_table.block(self.files), self.text("README.md"),
                      "after a change: python3 tests/blueprints/readme_table.py --write")

    def test_linters_have_nothing_to_say(self) -> None:
        for command in (["yamllint", "--strict", "-c", os.path.join(TOP, ".yamllint"), os.path.join(TOP, "blueprints")],
                        ["shellcheck", os.path.join(MODULE, "files", "configure.sh")],
                        ["ansible-lint", "--offline", "--nocolor", "--strict", os.path.join(MODULE, "files", "install.yml")]):
            said = subprocess.run(command, cwd=MODULE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  universal_newlines=True, timeout=300, env=dict(os.environ, HOME=self.dir))
            self.assertEqual(said.returncode, 0, said.stdout)

    # --- execution of the controller's runner

    def settings(self, settings: Optional[Dict[str, Any]] = None) -> str:
        """The argument that the module passes for these settings."""
        lines = ["%s=%s" % (name, value) for name, value in (settings or {}).items() if name != "goodput_conf"]
        lines += ["goodput_conf=" + line for line in (settings or {}).get("goodput_conf", [])]
        return base64.b64encode("\n".join(lines).encode()).decode()

    def configure(self, settings: Optional[Dict[str, Any]] = None) -> str:
        """Runs it below self.dir and returns the output. It never fails."""
        done = subprocess.run([os.path.join(MODULE, "files", "configure.sh"), "--settings", self.settings(settings), "--root", self.dir],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                              timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def plugin(self) -> None:
        os.makedirs(os.path.join(self.dir, "usr/local/lib/slurm"))
        with open(os.path.join(self.dir, "usr/local/lib/slurm/spank_goodput.so"), "w"):
            pass

    def plugstack(self, text: Optional[str] = None) -> str:
        path = os.path.join(self.dir, "usr/local/etc/slurm/plugstack.conf")
        if text is not None:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
        with open(path) as file:
            return file.read()

    LINE = "optional /usr/local/lib/slurm/spank_goodput.so spool=/var/spool/slurm-goodput socket=@goodput\n"

    CONFIGURED = "slurm-goodput: configured\n"

    def test_beside_pyxis_and_a_second_time_nothing_changes(self) -> None:
        self.plugin()
        self.plugstack(PYXIS)
        self.assertEqual(self.configure(), "slurm-goodput: wrote /etc/slurm-goodput/goodput.conf\n"
                         "slurm-goodput: wrote /usr/local/etc/slurm/plugstack.conf\n" + self.CONFIGURED)
        self.assertEqual(self.plugstack(), self.LINE + PYXIS)
        self.assertEqual(self.configure(), self.CONFIGURED)
        self.assertEqual(self.plugstack(), self.LINE + PYXIS)
        self.assertEqual(os.stat(os.path.join(self.dir, "opt/apps/.slurm-goodput-spool")).st_mode & 0o777, 0o700)
        self.assertEqual(os.stat(os.path.join(self.dir, "var/spool/slurm/goodput")).st_mode & 0o777, 0o750)
        self.assertEqual(sorted(os.listdir(os.path.join(self.dir, "usr/local/etc/slurm"))), ["plugstack.conf"])

    def test_a_line_of_ours_is_replaced_and_stands_before_pyxis(self) -> None:
        self.plugin()
        self.plugstack("# By pyxis' role\n" + PYXIS + "optional spank_goodput.so default=off\n# spank_goodput.so is ours\n")
        self.configure({"plugstack_line": self.LINE.strip() + " default=off", "listen": "off", "goodput_conf": ["heartbeat = 30s"]})
        self.assertEqual(self.plugstack(), "# By pyxis' role\n" + self.LINE.strip() + " default=off\n" + PYXIS + "# spank_goodput.so is ours\n")
        with open(os.path.join(self.dir, "etc/slurm-goodput/goodput.conf")) as file:
            conf = file.read()
        self.assertIn("\nlisten = off\n", conf)
        self.assertTrue(conf.endswith("\nheartbeat = 30s\n"), conf)

    def test_a_plugstack_conf_that_is_missing_is_made(self) -> None:
        self.plugin()
        os.makedirs(os.path.join(self.dir, "usr/local/etc/slurm"))
        self.configure()
        self.assertEqual(self.plugstack(), self.LINE)

    def test_a_plugstack_conf_that_is_a_link_stays_one(self) -> None:
        self.plugin()
        self.plugstack(PYXIS)
        os.makedirs(os.path.join(self.dir, "etc"))
        os.symlink("../usr/local/etc/slurm", os.path.join(self.dir, "etc/slurm"))
        os.symlink("plugstack.conf", os.path.join(self.dir, "usr/local/etc/slurm/linked.conf"))
        self.configure({"plugstack_conf": "/etc/slurm/linked.conf"})
        self.assertTrue(os.path.islink(os.path.join(self.dir, "usr/local/etc/slurm/linked.conf")))
        self.assertEqual(self.plugstack(), self.LINE + PYXIS)

    def test_a_read_only_plugstack_conf_breaks_no_controller(self) -> None:
        self.plugin()
        self.plugstack(PYXIS)
        folder = os.path.join(self.dir, "usr/local/etc/slurm")
        subprocess.run(["mount", "--bind", folder, folder], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", folder], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        said = self.configure()
        self.assertIn("the cluster starts without it: Load the plugin in plugstack.conf: mktemp:", said)
        self.assertEqual(self.plugstack(), PYXIS)

    def test_an_image_without_the_plugin_gets_no_line(self) -> None:
        self.plugstack(PYXIS)
        self.assertIn("put install_runner into the image build", self.configure())
        self.assertEqual(self.plugstack(), PYXIS)

    def test_what_it_does_not_know_breaks_no_controller(self) -> None:
        self.plugin()
        self.plugstack(PYXIS)
        self.assertIn("the cluster starts without it: unknown setting lisen", self.configure({"lisen": "off"}))
        done = subprocess.run([os.path.join(MODULE, "files", "configure.sh"), "--settings", "no base64!", "--root", self.dir],
                              stderr=subprocess.PIPE, universal_newlines=True, timeout=60)
        self.assertEqual((done.returncode, self.plugstack()), (0, PYXIS))
        self.assertIn("--settings is not base64", done.stderr)

    def test_a_controller_without_network_is_configured(self) -> None:
        # As root, with a user, systemd's units and a service, on a machine whose changes all go into a folder of this test.
        stub = "#!/bin/sh\necho \"${0##*/} $*\" >>/var/commands\n%s\n"
        self.addCleanup(subprocess.run, ["umount", "-l", self.dir])
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", self.dir], check=True)
        commands = {"systemctl": "exit 0"}
        commands.update((name, "exit 1") for name in ("ansible-playbook", "apt-get", "curl", "pip", "gcloud"))
        with open(os.path.join(self.dir, "run"), "w") as file:
            file.write("set -e\nip link | grep -c '^[0-9]' | grep -qx 1  # the loopback alone, and that is down\n")
            for number, folder in enumerate(("/etc", "/opt", "/usr/local", "/var")):
                upper, work = (os.path.join(self.dir, kind + str(number)) for kind in ("upper", "work"))
                os.mkdir(upper)
                os.mkdir(work)
                file.write("mount -t overlay overlay -o lowerdir=%s,upperdir=%s,workdir=%s %s\n" % (folder, upper, work, folder))
            file.write("mkdir -p /usr/local/sbin /usr/local/lib/slurm /usr/local/etc/slurm\n: >/usr/local/lib/slurm/spank_goodput.so\n")
            for name, end in commands.items():
                file.write("cat >/usr/local/sbin/%s <<'EOF'\n%sEOF\nchmod 755 /usr/local/sbin/%s\n" % (name, stub % end, name))
            file.write("export PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin\nfor time in 1 2; do %s --settings %s; done\n" % (
                os.path.join(MODULE, "files", "configure.sh"), self.settings()))
            file.write("cat /usr/local/etc/slurm/plugstack.conf /var/commands\nstat -c '%U %G %a %n' /var/spool/slurm/goodput "
                       "/opt/apps/.slurm-goodput-spool\nid -nG goodput\n")
        done = subprocess.run(["unshare", "--net", "--mount", "bash", os.path.join(self.dir, "run")], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, timeout=300)
        unit = "goodputd-controller.service"
        self.assertEqual((done.returncode, done.stdout.splitlines()), (0, [
            "slurm-goodput: wrote /etc/slurm-goodput/goodput.conf",
            "slurm-goodput: wrote /etc/systemd/system/%s.d/folders.conf" % unit,
            "slurm-goodput: wrote /usr/local/etc/slurm/plugstack.conf", "slurm-goodput: configured", "slurm-goodput: configured",
            self.LINE.strip(),
            "systemctl daemon-reload", "systemctl enable " + unit, "systemctl --no-block restart " + unit,
            "systemctl daemon-reload", "systemctl enable " + unit, "systemctl --no-block start " + unit,
            "goodput goodput 750 /var/spool/slurm/goodput", "root root 700 /opt/apps/.slurm-goodput-spool", "goodput"]))


if __name__ == "__main__":
    unittest.main()
