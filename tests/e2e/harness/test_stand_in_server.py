#!/usr/bin/python3
"""A stand-in server that is stopped is as one whose process has ended.

    python3 -m unittest tests.e2e.harness.test_stand_in_server
"""

import http.client
import threading
import time
import unittest
from typing import List

from .metadata_server import PREFIX, MetadataServer

VALUE = PREFIX + "preempted"
HEADERS = {"Metadata-Flavor": "Google"}


class StopTest(unittest.TestCase):
    def setUp(self) -> None:
        self.server = MetadataServer()
        self.server.start()
        self.addCleanup(self.server.stop)

    def connection(self) -> http.client.HTTPConnection:
        """One that has been answered, and is kept."""
        connection = http.client.HTTPConnection(self.server.address, timeout=5)
        self.addCleanup(connection.close)
        connection.request("GET", VALUE, headers=HEADERS)
        self.assertEqual(connection.getresponse().read(), b"FALSE")
        return connection

    def test_a_connection_that_was_kept_ends(self) -> None:
        connection = self.connection()
        self.server.stop()
        # It ends even where nothing is sent on it.
        self.assertEqual(connection.sock.recv(1), b"")

    def test_a_request_that_waits_ends_without_an_answer(self) -> None:
        connection = self.connection()
        connection.request("GET", VALUE + "?wait_for_change=true&last_etag=1", headers=HEADERS)
        ended: List[float] = []

        def read() -> None:
            with self.assertRaises((http.client.RemoteDisconnected, ConnectionError)):
                connection.getresponse()
            ended.append(time.monotonic())
        reader = threading.Thread(target=read)
        reader.start()
        while len(self.server.requests) < 2:
            time.sleep(0.01)
        begin = time.monotonic()
        self.server.stop()
        reader.join()
        self.assertLess(ended[0] - begin, 2)

    def test_it_starts_again_on_its_port(self) -> None:
        address = self.server.address
        self.server.stop()
        with self.assertRaises(ConnectionRefusedError):
            http.client.HTTPConnection(address, timeout=5).request("GET", VALUE, headers=HEADERS)
        self.server.start()
        self.assertEqual(self.server.address, address)
        self.connection()


if __name__ == "__main__":
    unittest.main()
