#!/usr/bin/python3
"""The cluster blueprint, as far as it can be checked without gcluster: referenced modules exist, its scripts are sound, and
our runners are in the right places.

    python3 -m unittest tests.blueprints.test_cluster
"""

import os
import re
import shlex
import subprocess
import tempfile
import unittest
from typing import Any, Dict, Iterator, List, Tuple

import yaml

from .readme_table import MODULE, TOP

BLUEPRINT = os.path.join(TOP, "blueprints", "a3mega-slurm-goodput.yaml")
# $(...) is Cluster Toolkit's own expression; \$(...) is the shell's.
EXPRESSION = re.compile(r"(?<!\\)\$\(!?([a-z_0-9]+)\.([a-z_0-9]+)[a-z_0-9.]*\)")


def declared(file: str, what: str) -> List[str]:
    with open(os.path.join(MODULE, file)) as text:
        return re.findall(r'^%s "(\w+)"' % what, text.read(), re.M)


class ClusterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        with open(BLUEPRINT) as file:
            cls.text = file.read()
        cls.blueprint: Dict[str, Any] = yaml.safe_load(cls.text)
        cls.modules: Dict[str, Dict[str, Any]] = {
            module["id"]: module for group in cls.blueprint["deployment_groups"] for module in group["modules"]}

    def runners(self, module: str) -> List[Any]:
        return list(self.modules[module]["settings"]["runners"])

    def test_every_variable_named_is_there_and_every_one_there_is_used(self) -> None:
        used = {name for group, name in EXPRESSION.findall(self.text) if group == "vars"}
        implicit = {"region", "zone", "slurm_cluster_name", "instance_image"}  # the toolkit sets these by name
        self.assertLessEqual(used, set(self.blueprint["vars"]))
        self.assertEqual(set(self.blueprint["vars"]) - used - implicit, set())

    def test_modules_name_only_modules_before_them(self) -> None:
        seen: List[str] = []
        for name, module in self.modules.items():
            named = set(module.get("use", [])) | {group for group, _ in EXPRESSION.findall(yaml.safe_dump(module)) if group != "vars"}
            self.assertLessEqual(named, set(seen), name)
            seen.append(name)
        self.assertEqual(len(seen), len(set(seen)))

    def test_our_module_gets_variables_it_has_and_gives_outputs_it_has(self) -> None:
        goodput = self.modules["goodput"]
        self.assertEqual(os.path.realpath(os.path.join(TOP, goodput["source"])), os.path.realpath(MODULE))
        self.assertLessEqual(set(goodput["settings"]), set(declared("variables.tf", "variable")))
        self.assertIn("git_url", goodput["settings"])
        taken = {output for module, output in EXPRESSION.findall(self.text) if module == "goodput"}
        self.assertEqual(taken, {"install_runner", "controller_runner"})
        self.assertLessEqual(taken, set(declared("outputs.tf", "output")))

    def test_the_plugin_is_built_behind_slurm_and_loaded_last(self) -> None:
        names = [runner if isinstance(runner, str) else runner["destination"] for runner in self.runners("image_script")]
        self.assertGreater(names.index("$(goodput.install_runner)"), names.index("install_slurm.sh"))
        self.assertEqual(self.runners("controller_script")[-1], "$(goodput.controller_runner)")

    def test_the_controllers_start_installs_nothing(self) -> None:
        # If one runner is ansible-local, or an option adds such a runner, Cluster Toolkit installs Ansible before slurmctld
        # starts.
        self.assertEqual(set(self.modules["controller_script"]["settings"]), {"runners"})
        self.assertEqual({runner["type"] for runner in self.runners("controller_script") if isinstance(runner, dict)}, {"shell"})

    def test_where_machines_come_from_reaches_the_nodes(self) -> None:
        settings = self.modules["a3mega_nodeset"]["settings"]
        # Cluster Toolkit rejects compact placement of flex-start machines of this type.
        self.assertEqual(settings["enable_placement"], "$(!vars.a3mega_dws_flex_enabled)")
        self.assertEqual(settings["machine_type"], "a3-megagpu-8g")
        self.assertEqual((settings["reservation_name"], settings["enable_spot_vm"], settings["dws_flex"]["enabled"]),
                         ("$(vars.a3mega_reservation_name)", "$(vars.a3mega_enable_spot_vm)", "$(vars.a3mega_dws_flex_enabled)"))
        given = self.blueprint["vars"]
        self.assertEqual((given["a3mega_reservation_name"], given["a3mega_enable_spot_vm"], given["a3mega_dws_flex_enabled"]),
                         ("", False, False), "a choice that nobody made")

    def scripts(self) -> Iterator[Tuple[str, str]]:
        for name, module in self.modules.items():
            settings = module.get("settings", {})
            for runner in settings.get("runners", []):
                if isinstance(runner, dict) and runner["type"] == "shell":
                    yield name + "/" + runner["destination"], runner["content"]
            for script in settings.get("prolog_scripts", []):
                yield name + "/" + script["filename"], script["content"]

    def test_scripts_are_sound(self) -> None:
        count = 0
        with tempfile.TemporaryDirectory() as folder:
            for name, text in self.scripts():
                count += 1
                path = os.path.join(folder, name.replace("/", "-"))
                with open(path, "w") as file:
                    file.write(EXPRESSION.sub("value", text).replace("\\$(", "$("))
                said = subprocess.run(["shellcheck", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                                      timeout=60)
                self.assertEqual(said.returncode, 0, name + "\n" + said.stdout)
        self.assertGreaterEqual(count, 7)

    def script(self, name: str, folder: str) -> str:
        """The file of a runner or script, as installed on a machine."""
        text, = [content for runner, content in self.scripts() if runner == name]
        path = os.path.join(folder, os.path.basename(name))
        with open(path, "w") as file:
            file.write(EXPRESSION.sub("value", text).replace("\\$(", "$("))
        os.chmod(path, 0o755)
        return path

    def test_only_installed_packages_are_held(self) -> None:
        known = [("nvidia-utils-580-server", "install ok installed"), ("libnvidia-cfg1-580-server", "hold ok installed"),
                 ("libnvidia-nscq-580", "install ok installed"), ("nvidia-driver-535", "deinstall ok config-files"),
                 ("nvidia-smi", "unknown ok not-installed"), ("google-guest-agent", "install ok installed"),
                 ("google-osconfig-agent", "unknown ok not-installed"), ("my-nvidia-tool", "install ok installed")]
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "status"), "w") as status:
                for name, state in known:
                    status.write("Package: %s\nStatus: %s\nMaintainer: t\nArchitecture: amd64\nVersion: 1\nDescription: t\n\n" % (name, state))
            # Like the real apt: an unknown package is an error.
            with open(os.path.join(folder, "apt-mark"), "w") as command:
                command.write('#!/bin/sh\nshift\nfor name; do dpkg-query -W -f \'${Status}\' "$name" | grep -q " installed$" || exit 100\n'
                              'echo "$name"; done\n')
            os.chmod(command.name, 0o755)
            done = subprocess.run([self.script("image_script/hold_packages.sh", folder)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  universal_newlines=True, timeout=60,
                                  env=dict(os.environ, DPKG_ADMINDIR=folder, PATH=folder + ":" + os.environ["PATH"]))
        self.assertEqual((done.returncode, sorted(re.sub(":amd64", "", done.stdout).split())),
                         (0, ["google-guest-agent", "libnvidia-nscq-580", "nvidia-utils-580-server"]))

    def stage(self, prepare: str) -> Tuple[int, str, str]:
        """Runs stage_prologs.sh twice on a machine without network whose changes are discarded. Returns status, output and
        files."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "run"), "w") as run:
                run.write("set -e\nmount -t tmpfs tmpfs /opt\nmount -t tmpfs tmpfs /usr/local\n%s\nPATH=/usr/bin:/bin\n"
                          "for time in 1 2; do %s; done\ncd /opt\nfind . ! -type d -printf '%%P %%m %%l\\n' | sort >%s/found\n" % (
                              prepare, self.script("controller_script/stage_prologs.sh", folder), folder))
            done = subprocess.run(["unshare", "--net", "--mount", "bash", run.name], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, universal_newlines=True, timeout=120)
            with open(os.path.join(folder, "found")) as found:
                return done.returncode, done.stdout, found.read()

    def test_prologs_are_staged_without_a_network(self) -> None:
        status, said, found = self.stage("mkdir -p /usr/local/libexec; echo rxdm >/usr/local/libexec/rxdm")
        script = "/opt/apps/adm/slurm/scripts/rxdm"
        self.assertEqual((status, said, found.splitlines()), (0, "", [
            "apps/adm/slurm/partition-a3mega-epilog_slurmd.d/gpu-test.epilog_slurmd 777 /slurm/scripts/tools/gpu-test",
            "apps/adm/slurm/partition-a3mega-epilog_slurmd.d/rxdm.epilog_slurmd 777 " + script,
            "apps/adm/slurm/partition-a3mega-prolog_slurmd.d/rxdm.prolog_slurmd 777 " + script,
            "apps/adm/slurm/scripts/rxdm 755 "]))

    def test_a_controller_starts_where_prologs_cannot_be_staged(self) -> None:
        status, said, found = self.stage(":")  # no receive-data-path manager in the image
        self.assertEqual(status, 0, said)
        self.assertIn("try 3 failed with status 1", said)
        self.assertNotIn("rxdm.prolog", found)  # a dangling link would drain nodes
        status, said, _ = self.stage("mount -o remount,ro /opt")
        self.assertEqual(status, 0, said)
        self.assertIn("run this as root again", said)

    def test_containers_are_put_on_local_disks_only_where_there_are_some(self) -> None:
        for name, module in self.modules.items():
            for runner in module.get("settings", {}).get("runners", []):
                if isinstance(runner, dict) and "$(vars.local_ssd)" in runner.get("content", ""):
                    self.assertEqual(module["settings"]["local_ssd_filesystem"]["mountpoint"], "$(vars.local_ssd)", name)
        self.assertIn("/etc/enroot/enroot.conf", [runner["destination"] for runner in self.runners("a3mega_script")])

    def test_instructions_are_shown(self) -> None:
        self.assertEqual(self.modules["goodput"]["outputs"], ["instructions"])

    # --- commands to copy

    def commands(self) -> Iterator[Tuple[str, List[str]]]:
        """Every gcluster command in the documents, split like a shell does. In comments, the # of each line is removed."""
        for name in ("README.md", "a3mega-slurm-goodput.yaml", os.path.join("modules", "slurm-goodput", "README.md")):
            with open(os.path.join(TOP, "blueprints", name)) as file:
                text = re.sub(r"^# ?", "", file.read(), flags=re.M) if name.endswith(".yaml") else file.read()
            for command in re.findall(r"^ *(?:\./)?gcluster (?:deploy|create|destroy) (?:.*\\\n)*.*$", text, re.M):
                said = subprocess.run(["bash", "-c", "gcluster() { printf '%s\\n' gcluster \"$@\"; }\n" + command], check=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=10)
                self.assertEqual(said.stderr, "", name)
                yield name, said.stdout.splitlines()

    def test_commands_run_as_printed(self) -> None:
        wanted = {name for name, value in self.blueprint["vars"].items() if value is None}
        seen = []
        for name, words in self.commands():
            seen.append((name, words[1]))
            arguments, given = [], set()
            rest = iter(words[2:])
            for word in rest:
                if word == "--vars":
                    given |= {pair.split("=")[0] for pair in next(rest).split(",")}
                else:
                    arguments.append(word)
            self.assertEqual(len(arguments), 1, "%s: %s" % (name, shlex.join(words)))
            self.assertLessEqual(given, set(self.blueprint["vars"]), name)
            if words[1] in ("deploy", "create"):
                self.assertTrue(os.path.isfile(os.path.join(TOP, arguments[0])), name)
                self.assertLessEqual(wanted, given, name)
        self.assertIn(("a3mega-slurm-goodput.yaml", "deploy"), seen)
        self.assertIn(("README.md", "deploy"), seen)
        self.assertIn(("README.md", "destroy"), seen)

    def test_no_two_runners_of_a_script_have_the_same_destination(self) -> None:
        for module in ("image_script", "a3mega_script", "controller_script"):
            names = [os.path.basename(runner["destination"]) for runner in self.runners(module) if isinstance(runner, dict)]
            self.assertEqual(len(names), len(set(names)), module)


if __name__ == "__main__":
    unittest.main()
