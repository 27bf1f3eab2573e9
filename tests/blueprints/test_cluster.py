#!/usr/bin/python3
"""The cluster blueprint, as far as it can be checked without gcluster: what it names exists, its scripts are sound, and our
runners stand where they have to.

    python3 -m unittest tests.blueprints.test_cluster
"""

import os
import re
import subprocess
import tempfile
import unittest
from typing import Any, Dict, Iterator, List, Tuple

import yaml

from .readme_table import MODULE, TOP

BLUEPRINT = os.path.join(TOP, "blueprints", "a3mega-slurm-goodput.yaml")
# $(...) is Cluster Toolkit's own expression; \$(...) is the shell's.
EXPRESSION = re.compile(r"(?<!\\)\$\(([a-z_0-9]+)\.([a-z_0-9]+)[a-z_0-9.]*\)")


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
        implicit = {"region", "zone", "slurm_cluster_name", "instance_image"}  # modules take these by their names
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

    def test_where_machines_come_from_reaches_the_nodes(self) -> None:
        settings = self.modules["a3mega_nodeset"]["settings"]
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

    def test_no_two_runners_of_a_script_have_the_same_destination(self) -> None:
        for module in ("image_script", "a3mega_script", "controller_script"):
            names = [os.path.basename(runner["destination"]) for runner in self.runners(module) if isinstance(runner, dict)]
            self.assertEqual(len(names), len(set(names)), module)


if __name__ == "__main__":
    unittest.main()
