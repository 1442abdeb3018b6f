"""The benchmark of traces and calls of fused functions prints a line for each."""

from benchmarks import tracing


def test_both_tables(capsys, monkeypatch):
    monkeypatch.setattr(tracing, "_RUNS", 1)
    monkeypatch.setattr(tracing, "_CALLS", 2)
    tracing.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines if line.startswith("function")] == ["value", "call"]
    for name in (*tracing._TRACED, *tracing._CALLED):
        (line,) = (one for one in lines if one.startswith(f"{name}  "))
        assert all(float(one) > 0 for one in line.split()[-2:])
