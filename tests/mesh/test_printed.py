"""The output of a rank reaches the launcher before the job is ended."""

import os
import sys
import threading

from ep.mesh import printed


def test_it_returns_when_the_pipe_is_empty(monkeypatch):
    ours, theirs = os.pipe()
    reading, got = threading.Event(), []

    def read():
        reading.wait()
        while chunk := os.read(ours, 4096):
            got.append(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    with open(theirs, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        print("x" * 20_000)
        threading.Timer(0.2, reading.set).start()
        printed.hand_over()
        assert reading.is_set()
        assert not printed._is_unread(stream.fileno())
    reader.join()
    os.close(ours)
    assert len(b"".join(got)) == 20_001


def test_what_is_no_pipe_is_not_waited_for(monkeypatch, tmp_path):
    with open(tmp_path / "out", "w") as file:
        monkeypatch.setattr(sys, "stdout", file)
        monkeypatch.setattr(sys, "stderr", None)
        print("words")
        printed.hand_over()
        assert (tmp_path / "out").read_text() == "words\n"
    printed.hand_over()  # a closed one
