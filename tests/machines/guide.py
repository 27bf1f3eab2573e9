"""Extracts commands and settings from the operators' guide, so that the machines are set up accordingly."""

import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Guide:
    def __init__(self) -> None:
        with open(os.path.join(TOP, "docs", "operators.md")) as file:
            self._text = re.sub(r"\n +", " ", file.read())

    def _one(self, pattern: str) -> str:
        found = re.search(pattern, self._text)
        if found is None:
            raise AssertionError("the operators' guide no longer has: " + pattern)
        return found.group(1)

    @property
    def install(self) -> str:
        """The installation commands for nodes and controller, for the folder of the packages."""
        return self._one(r"On a node `(apt-get install [^`]+)`")

    @property
    def controller(self) -> str:
        return self._one(r"controller, once, `(systemctl enable --now goodputd-controller)`")

    @property
    def shared_spool(self) -> str:
        """The line for goodput.conf."""
        return self._one(r"goodput.conf, on each of them and on the controller: `(shared_spool = [^`]+)`")

    @property
    def shared_folder(self) -> str:
        assert self._one(r"made once by root with mode (\d+)") == "0700"
        return self.shared_spool.split("=")[1].strip()

    @property
    def drop_in(self) -> str:
        """The text for `systemctl edit`."""
        return self._one(r"then `systemctl restart` of it:\s+```\n(\[Service\]\n[^`]+)```")

    @property
    def security(self) -> str:
        """The documented result of `systemd-analyze security` for goodputd."""
        return self._one(r"`systemd-analyze security` says (\d\.\d)")
