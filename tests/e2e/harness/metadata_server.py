"""A server that speaks Compute Engine's metadata protocol for one machine: values, ETags, waiting for a change.

    with MetadataServer() as server:
        daemon_env["GCE_METADATA_HOST"] = server.address
        server.say("maintenance-event", "TERMINATE_ON_HOST_MAINTENANCE")
"""

import http.server
import json
import threading
import time
import urllib.parse
from typing import Dict, List, Optional, Tuple

from .stand_in_server import StandInServer

PREFIX = "/computeMetadata/v1/instance/"


class MetadataServer(StandInServer):
    def __init__(self) -> None:
        super().__init__()
        self._change = threading.Condition()
        self._values: Dict[str, Tuple[int, Optional[str]]] = {
            "maintenance-event": (1, "NONE"), "preempted": (1, "FALSE"), "upcoming-maintenance": (1, None)}
        self.flavor = "Google"
        self.requests: List[Tuple[float, str]] = []

    def __enter__(self) -> "MetadataServer":
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    @property
    def address(self) -> str:
        return "127.0.0.1:%d" % self._port

    def stop(self) -> None:
        super().stop()
        with self._change:
            self._change.notify_all()

    def say(self, key: str, value: Optional[str]) -> int:
        """The real time at which this value was served. None: there is no such key."""
        with self._change:
            self._values[key] = (self._values.get(key, (0, None))[0] + 1, value)
            self._change.notify_all()
            return time.time_ns()

    def announce(self, begin_s: float, end_s: float, status: str = "PENDING") -> int:
        def rfc3339(when: float) -> str:
            return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))
        return self.say("upcoming-maintenance", json.dumps({
            "can_reschedule": "true", "type": "SCHEDULED", "maintenance_status": status, "window_start_time": rfc3339(begin_s),
            "window_end_time": rfc3339(end_s), "latest_window_start_time": rfc3339(begin_s)}))

    def _answer(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        parts = urllib.parse.urlsplit(handler.path)
        query = dict(urllib.parse.parse_qsl(parts.query))
        key = parts.path[len(PREFIX):]
        self.requests.append((time.monotonic(), handler.path))
        if handler.headers.get("Metadata-Flavor") != "Google" or not parts.path.startswith(PREFIX):
            self._send(handler, 403, "", "0")
            return
        with self._change:
            if query.get("wait_for_change") == "true":
                asked, server = query.get("last_etag"), self._server
                self._change.wait_for(lambda: str(self._values[key][0]) != asked or self._server is not server,
                                      float(query.get("timeout_sec", "300")))
                if self._server is not server:
                    handler.close_connection = True
                    return
            etag, value = self._values.get(key, (0, None))
        if value is None:
            self._send(handler, 503 if key == "upcoming-maintenance" else 404, "no notifications have been received yet", str(etag))
        else:
            self._send(handler, 200, value, str(etag))

    def _send(self, handler: http.server.BaseHTTPRequestHandler, code: int, body: str, etag: str) -> None:
        data = body.encode()
        handler.send_response(code)
        handler.send_header("Metadata-Flavor", self.flavor)
        handler.send_header("ETag", etag)
        handler.send_header("Content-Type", "application/text")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)
