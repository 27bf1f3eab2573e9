#!/usr/bin/python3
"""`sgoodput mcp`: JSON-RPC over stdin and stdout, as clients of the Model Context Protocol speak it. (The protocol's own TypeScript SDK,
release 1, was run against it by hand.)

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_mcp
"""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from typing import Any, Dict, List

from .harness.goodput_site import SGOODPUT
from .harness.hand_written import Spool, run_it


class McpTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.dir = tempfile.mkdtemp(prefix="goodput-mcp-")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        spool = Spool(os.path.join(cls.dir, "spool"))
        times = {"submit_s": 0, "eligible_s": 0, "start_s": 100, "job": 7, "user": "eve", "account": "ml"}
        spool.controller(101, **times)
        spool.node(100, "job_prolog", job=7, opt={"run": "r \"7\""})
        spool.controller(3700, **times, end_s=3700, state="COMPLETED")
        spool.write()
        cls.conf, cls.db = os.path.join(cls.dir, "conf"), os.path.join(cls.dir, "db")
        with open(cls.conf, "w") as file:
            file.write("cluster = c\nspool = %s\n" % spool.folder)
        done = run_it("ingest", "--config", cls.conf, "--db", cls.db)
        assert done.returncode == 0, done

    def talk(self, *lines: Any) -> List[Dict]:
        """The replies to these messages, each a line of text or an object."""
        text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
        done = subprocess.run([SGOODPUT, "mcp", "--config", self.conf, "--db", self.db], input=text, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [json.loads(line) for line in done.stdout.splitlines()]

    @staticmethod
    def call(name: str, **arguments: Any) -> Dict:
        return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}

    def test_it_says_who_it_is_and_lists_its_tools(self) -> None:
        first, tools = self.talk(
            {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}}},
            {"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": "x", "method": "tools/list"})
        self.assertEqual((first["id"], first["result"]["protocolVersion"], first["result"]["serverInfo"]["name"]), (0, "2025-06-18", "slurm-goodput"))
        self.assertEqual(tools["id"], "x")
        by_name = {tool["name"]: tool for tool in tools["result"]["tools"]}
        self.assertEqual(set(by_name), {"now", "list", "show", "attempts", "report", "advise", "diff", "check"})
        for tool in by_name.values():
            self.assertTrue(tool["annotations"]["readOnlyHint"])
            self.assertFalse(tool["inputSchema"]["additionalProperties"])
        self.assertEqual(by_name["show"]["inputSchema"]["properties"]["job"], {"type": "string"})
        self.assertEqual(by_name["report"]["inputSchema"]["properties"]["fleet"], {"type": "boolean"})

    def test_its_answers_are_those_of_the_command(self) -> None:
        show, report, check = self.talk(self.call("show", job="7"), self.call("report", starttime="2000-01-01", by="account"),
                                        self.call("check", job="7", **{"no-progress": "10m"}))
        for reply, words in ((show, ["show", "7"]), (report, ["report", "-a", "-S", "2000-01-01", "--by", "account"])):
            content, = reply["result"]["content"]
            same = run_it(*words, "--json", "--no-refresh", "--config", self.conf, "--db", self.db)
            self.assertEqual(json.loads(content["text"]), json.loads(same.stdout))
            self.assertFalse(reply["result"]["isError"])
        self.assertRegex(check["result"]["content"][0]["text"], r"^OK - run r \"7\": not running")

    def test_what_is_wrong_is_said_and_ends_nothing(self) -> None:
        unknown_job, option, tool, kind, method, no_json, request, deep, last = self.talk(
            self.call("show", job="4711"), self.call("show", shoe="7"), self.call("mark"), self.call("show", job=["7"]),
            {"jsonrpc": "2.0", "id": 1, "method": "resources/list"}, "{", {"id": 3}, '{"a":' * 3000,
            {"jsonrpc": "2.0", "id": 9, "method": "ping"})
        self.assertTrue(unknown_job["result"]["isError"])
        self.assertIn("4711", unknown_job["result"]["content"][0]["text"])
        self.assertEqual(option["error"], {"code": -32602, "message": "unknown parameter 'shoe' for show"})
        self.assertEqual(tool["error"]["code"], -32602)
        self.assertEqual(kind["error"]["code"], -32602)
        self.assertEqual(method["error"]["code"], -32601)
        self.assertEqual(no_json["error"]["code"], -32700)
        self.assertEqual(request["error"]["code"], -32600)
        self.assertEqual(deep["error"]["code"], -32700)
        self.assertEqual(last, {"jsonrpc": "2.0", "id": 9, "result": {}})
        long, ping = self.talk("x" * (3 << 20), {"jsonrpc": "2.0", "id": 9, "method": "ping"})
        self.assertEqual(long["error"]["message"], "longer than 1 MiB")
        self.assertEqual(ping["id"], 9)


if __name__ == "__main__":
    unittest.main()
