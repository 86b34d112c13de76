"""The line to the resident process: one JSON object each way over a private socket, then it closes.

Standard library only: a hook's process imports this. Both ends are here, so that they agree.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import time

from ringwood import home as homes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_BYTES = 1_000_000
"""Of one message. A prompt is cut to far less before it is sent."""

_PIECE = 1 << 16


class NobodyThereError(OSError):
    """No resident process serves this home."""


def ask(home: str, request: dict[str, Any], deadline: float) -> dict[str, Any]:
    """Hand a request to the resident process of a home, and return its answer.

    Args:
        home: absolute path of the home.
        request: what is asked; `do` names it.
        deadline: on the monotonic clock.

    Raises:
        NobodyThereError: when none serves the home.
        OSError: when there is no answer in time, or none that can be read.
    """
    place = homes.socket_path(home)
    folder = os.path.dirname(place)
    if folder != home and not homes.is_ours_alone(folder):
        raise NobodyThereError(f"{folder} is not ours alone")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        try:
            line.settimeout(_left_s(deadline))
            line.connect(place)
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as error:
            raise NobodyThereError(str(error)) from error
        if not is_same_user(line):
            raise NobodyThereError(f"{place} is another user's")
        send(line, request, deadline)
        return receive(line, deadline)


def send(line: socket.socket, message: dict[str, Any], deadline: float) -> None:
    """Write one message whole.

    Raises:
        OSError: when the other end takes it not, or not in time.
    """
    line.settimeout(_left_s(deadline))
    line.sendall(json.dumps(message).encode("ascii") + b"\n")


def receive(line: socket.socket, deadline: float) -> dict[str, Any]:
    """Read one message.

    Raises:
        OSError: when it does not come whole and in time, is too long, or no object.
    """
    pieces = bytearray()
    while not pieces.endswith(b"\n"):
        line.settimeout(_left_s(deadline))
        piece = line.recv(_PIECE)
        pieces += piece
        if not piece or len(pieces) > MAX_BYTES:
            raise OSError("the message breaks off" if not piece else "the message is too long")
    try:
        message = json.loads(pieces)
    except (ValueError, RecursionError) as error:
        raise OSError("the message is not JSON") from error
    if not isinstance(message, dict):
        raise OSError("the message is no object")
    return message


def is_same_user(line: socket.socket) -> bool:
    """Say whether our own user holds the other end; true where the system cannot tell.

    There the folder of the socket, which only we may enter, has to do.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    _, user, _ = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return bool(user == os.getuid())


def _left_s(deadline: float) -> float:
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise TimeoutError("no time is left")
    return left_s
