#!/usr/bin/python3
"""A stand-in for the RAS thread of NCCL in a process of a job: answers on 127.0.0.1 at a port.

    ras_server.py PORT REPORT [SECONDS]

Speaks as src/ras/client_support.cc of NCCL does (read at commit 5067397c2676): commands are lines, in any case; `client protocol N`,
`timeout N`, `set format text|json`, `status` and `verbose status`, anything else is an error. The report is sent in pieces, the second one
after SECONDS, as NCCL does while it gathers data, and the connection is closed. What it was asked is appended to REPORT.asked.
"""

import socket
import sys
import time


def answer(connection: socket.socket, report: str, seconds: float, asked: str) -> None:
    with connection.makefile("rwb") as stream:
        for raw in stream:
            line = raw.decode().rstrip("\r\n")
            with open(asked, "a") as log:
                log.write(line + "\n")
            command = line.lower()
            reply = "ERROR: Unknown command %s\n" % line
            if command.startswith("client protocol "):
                reply = "SERVER PROTOCOL 2\n"
            elif command.startswith("timeout "):
                value = command[len("timeout "):]
                reply = "OK\n" if value.isdigit() else "ERROR: Invalid timeout value %s\n" % value
            elif command in ("set format text", "set format json"):
                reply = "OK\n"
            elif command in ("status", "verbose status"):
                half = report.find("Communicators...")
                stream.write(report[:half].encode())
                stream.flush()
                time.sleep(seconds)
                stream.write(report[half:].encode())
                return
            stream.write(reply.encode())
            stream.flush()


def main() -> None:
    listener = socket.socket()
    # As NCCL: every process of the job on a node may listen.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind(("127.0.0.1", int(sys.argv[1])))
    listener.listen(8)
    with open(sys.argv[2]) as file:
        report = file.read()
    while True:
        connection, _ = listener.accept()
        with connection:
            answer(connection, report, float(sys.argv[3]) if len(sys.argv) > 3 else 0, sys.argv[2] + ".asked")


if __name__ == "__main__":
    main()
