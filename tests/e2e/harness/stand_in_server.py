"""An HTTP server of 127.0.0.1 that stands in for another, and can be stopped and started again on its port."""

import http.server
import socket
import socketserver
import threading
from typing import Any, Optional, Set


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._connections: Set[socket.socket] = set()
        self._lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Ends every connection, also one that is kept for a later request, as the end of a process does."""
        super().server_close()
        with self._lock:
            for connection in self._connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:  # it has ended
                    pass

    def handle_error(self, *_args: Any) -> None:
        """A client that gave up."""


class StandInServer:
    """What it answers is `_answer` of a subclass."""

    def __init__(self) -> None:
        self._server: Optional[_Server] = None
        self._port = 0

    def _answer(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        raise NotImplementedError

    def start(self) -> None:
        """Starts again on the same port after a stop."""
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                try:
                    outer._answer(self)
                except OSError:  # the client has disconnected
                    self.close_connection = True

            def log_message(self, *_args: Any) -> None:
                pass

        self._server = _Server(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
