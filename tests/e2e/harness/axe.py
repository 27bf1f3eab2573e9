"""axe-core (npm), which finds what keeps people with a screen reader, a keyboard or weak eyes from using a page."""

import os
import subprocess
from typing import List

from .browser import Browser
from .hand_written import TOP

NPM = os.path.join(TOP, "out", "npm-axe")
SCRIPT = os.path.join(NPM, "node_modules", "axe-core", "axe.min.js")


def violations(browser: Browser) -> List[str]:
    """Of WCAG 2.1 AA and of axe's best practices, in the page as it is: rule, element and reason."""
    if not os.path.exists(SCRIPT):
        os.makedirs(NPM, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix", NPM, "axe-core@4.14.1"],
                       check=True, stdin=subprocess.DEVNULL, timeout=300)
    with open(SCRIPT) as file:
        browser.run(file.read() + "\nwindow.axe = axe;")
    passed, found = browser.run("return axe.run(document).then((result) => [result.passes.length, result.violations.flatMap((rule) =>"
                                " rule.nodes.map((node) => rule.id + ': ' + node.html.slice(0, 200) + ': ' + node.failureSummary))])")
    assert passed > 10, "axe ran %s rules" % passed
    said: List[str] = found
    return said
