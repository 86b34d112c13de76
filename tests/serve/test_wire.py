"""The line to the resident process: what comes whole, what does not, and who may listen."""

from __future__ import annotations

import os
import socket
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ringwood import home as homes
from ringwood.serve.resident import wire


@contextmanager
def listening(home: Path, reply: bytes | None) -> Iterator[list[bytes]]:
    """Listen where the resident process would; give one reply and keep what was asked."""
    asked: list[bytes] = []
    stop = threading.Event()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(homes.socket_path(str(home)))
        listener.listen(1)
        listener.settimeout(10.0)

        def answer() -> None:
            line, _ = listener.accept()
            with line, suppress(ConnectionError):  # whoever asked may have heard enough
                asked.append(line.recv(1 << 16))
                if reply is None:
                    stop.wait(10.0)
                else:
                    line.sendall(reply)

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield asked
        finally:
            stop.set()
            thread.join()


def soon(seconds: float = 5.0) -> float:
    return time.monotonic() + seconds


def test_a_question_gets_its_answer(tmp_path: Path) -> None:
    with listening(tmp_path, b'{"pid": 7, "text": "caf\\u00e9"}\n') as asked:
        reply = wire.ask(str(tmp_path), {"do": "recall", "query": "caf\u00e9 \ud83d"}, soon())

    assert reply == {"pid": 7, "text": "caf\u00e9"}
    assert asked == [b'{"do": "recall", "query": "caf\\u00e9 \\ud83d"}\n']


@pytest.mark.parametrize(
    "reply",
    [b"", b"{", b'{"a": 1}', b"[1]\n", b"nonsense\n", b"\xff\xfe\n", b"[" * 100_000 + b"\n"],
)
def test_what_is_no_whole_object_is_no_answer(reply: bytes, tmp_path: Path) -> None:
    with listening(tmp_path, reply), pytest.raises(OSError, match="message"):
        wire.ask(str(tmp_path), {"do": "hello"}, soon())


def test_an_endless_answer_is_cut_off(tmp_path: Path) -> None:
    endless = b"x" * (wire.MAX_BYTES * 8)

    with listening(tmp_path, endless), pytest.raises(OSError, match="too long"):
        wire.ask(str(tmp_path), {"do": "hello"}, soon())


def test_who_never_answers_is_waited_for_until_the_deadline(tmp_path: Path) -> None:
    began = time.monotonic()

    with listening(tmp_path, None), pytest.raises(TimeoutError):
        wire.ask(str(tmp_path), {"do": "hello"}, began + 0.2)

    assert time.monotonic() - began >= 0.2


def test_a_deadline_that_has_passed_asks_nobody(tmp_path: Path) -> None:
    with listening(tmp_path, b"{}\n") as asked:
        with pytest.raises(TimeoutError):
            wire.ask(str(tmp_path), {"do": "hello"}, time.monotonic() - 1)
        assert asked == []
        assert wire.ask(str(tmp_path), {"do": "hello"}, soon()) == {}


def test_where_nobody_listens_it_says_so(tmp_path: Path) -> None:
    place = Path(homes.socket_path(str(tmp_path)))

    with pytest.raises(wire.NobodyThereError):
        wire.ask(str(tmp_path), {"do": "hello"}, soon())
    with listening(tmp_path, b"{}\n"):
        wire.ask(str(tmp_path), {"do": "hello"}, soon())
    assert stat.S_ISSOCK(place.stat().st_mode)  # left behind, as by a process that was killed
    with pytest.raises(wire.NobodyThereError):
        wire.ask(str(tmp_path), {"do": "hello"}, soon())
    place.unlink()
    place.write_text("no socket")
    with pytest.raises(wire.NobodyThereError):
        wire.ask(str(tmp_path), {"do": "hello"}, soon())
    with pytest.raises(wire.NobodyThereError):
        wire.ask(str(tmp_path / "no-home"), {"do": "hello"}, soon())


def test_the_socket_lies_in_the_home_unless_its_path_is_too_long(tmp_path: Path) -> None:
    short, long = "/home-of/ringwood", f"/{'very-' * 20}deep/ringwood"

    inside, outside = homes.socket_path(short), homes.socket_path(long)

    assert inside == f"{short}/{homes.RESIDENT_SOCKET}"
    assert not outside.startswith(long)
    assert len(os.fsencode(outside)) <= 100
    assert homes.socket_path(long) == outside != homes.socket_path(f"{long}2")


def test_a_folder_that_others_may_enter_is_not_ours_alone(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o700)
    link = tmp_path / "link"
    link.symlink_to(folder)

    assert homes.is_ours_alone(str(folder))
    assert not homes.is_ours_alone(str(link))
    assert not homes.is_ours_alone(str(tmp_path / "missing"))
    folder.chmod(0o710)
    assert not homes.is_ours_alone(str(folder))
    folder.chmod(0o700)
    if os.getuid() == 0:
        os.chown(folder, 12345, 12345)
        assert not homes.is_ours_alone(str(folder))


def test_both_ends_of_our_own_line_are_ours() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert wire.is_same_user(one)
        assert wire.is_same_user(other)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
def test_another_users_listener_is_nobody(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(homes.socket_path(str(tmp_path)))
        os.seteuid(12345)  # whose it is, the system decides when it begins to listen
        try:
            listener.listen(1)
        finally:
            os.seteuid(0)

        with pytest.raises(wire.NobodyThereError, match="another user"):
            wire.ask(str(tmp_path), {"do": "hello"}, soon())
