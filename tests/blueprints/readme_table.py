#!/usr/bin/python3
"""Generates the block of a Cluster Toolkit module's README that terraform-docs would write, from the module's files.

    python3 tests/blueprints/readme_table.py --write     # after a change of variables or outputs
"""

import json
import os
import re
import subprocess
import sys
from typing import Any, Dict

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
MODULE = os.path.join(TOP, "blueprints", "modules", "slurm-goodput")
NPM = os.path.join(TOP, "out", "npm")
BEGIN = "<!-- BEGINNING OF PRE-COMMIT-TERRAFORM DOCS HOOK -->"
END = "<!-- END OF PRE-COMMIT-TERRAFORM DOCS HOOK -->"


def escaped(name: str) -> str:
    return name.replace("_", "\\_")


def link(kind: str, name: str) -> str:
    return '<a name="%s_%s"></a> [%s](#%s\\_%s)' % (kind, name, escaped(name), kind, escaped(name))


def block(files: Dict[str, Any]) -> str:
    """files: the output of hcl.js for the module."""
    lines = [BEGIN, "## Requirements", "", "| Name | Version |", "|------|---------|",
             '| <a name="requirement_terraform"></a> [terraform](#requirement\\_terraform) | %s |' % (
                 files["versions.tf"]["terraform"][0]["required_version"])]
    providers = files["versions.tf"]["terraform"][0]["required_providers"][0]
    lines += ["| %s | %s |" % (link("requirement", name), provider["version"]) for name, provider in sorted(providers.items())]
    lines += ["", "## Providers", "", "| Name | Version |", "|------|---------|"]
    lines += ["| %s | %s |" % (link("provider", name), provider["version"]) for name, provider in sorted(providers.items())]
    lines += ["", "## Modules", "", "No modules.", "", "## Resources", "", "| Name | Type |", "|------|------|"]
    for kind, resources in sorted(files["main.tf"]["resource"].items()):
        lines += ["| %s.%s | resource |" % (kind, name) for name in sorted(resources)]
    lines += ["", "## Inputs", "", "| Name | Description | Type | Default | Required |", "|------|-------------|------|---------|:--------:|"]
    for name, (variable,) in sorted(files["variables.tf"]["variable"].items()):
        default = "n/a" if "default" not in variable else "`%s`" % json.dumps(variable["default"])
        kind = re.sub(r"^\$\{(.*)\}$", r"\1", variable["type"])
        lines.append("| %s | %s | `%s` | %s | %s |" % (link("input", name), variable["description"], kind, default,
                                                         "no" if "default" in variable else "yes"))
    lines += ["", "## Outputs", "", "| Name | Description |", "|------|-------------|"]
    for name, (output,) in sorted(files["outputs.tf"]["output"].items()):
        lines.append("| %s | %s |" % (link("output", name), output["description"]))
    return "\n".join(lines + [END])


def main() -> int:
    read = subprocess.run(["node", os.path.join(HERE, "hcl.js"), os.path.join(NPM, "node_modules"), MODULE], stdout=subprocess.PIPE,
                          check=True)
    text = block(json.loads(read.stdout))
    if sys.argv[1:] != ["--write"]:
        print(text)
        return 0
    path = os.path.join(MODULE, "README.md")
    with open(path) as file:
        readme = file.read()
    with open(path, "w") as file:
        file.write(readme[:readme.index(BEGIN)] + text + readme[readme.index(END) + len(END):])
    return 0


if __name__ == "__main__":
    sys.exit(main())
