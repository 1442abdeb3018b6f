"""The CUDA device on a GPU that is there for minutes: what is worth most comes first, and is on disk as it comes.

    python -m benchmarks.gpu compile                the kernels of both commands, without a GPU, to EP_CACHE_DIR
    python -m benchmarks.gpu first FOLDER           versions, twenty kernels, the five primitives, tests: 8 minutes
    python -m benchmarks.gpu second FOLDER          compute-sanitizer, rows, sums, casts, permutes, forms: 4 minutes
    python -m benchmarks.gpu first FOLDER --rehearse        without a GPU, on a driver that computes nothing

`plan` has the stages and cases of each command. The results are lines of JSON in FOLDER/COMMAND.jsonl, fit for
benchmarks/results; output of programs is in three or four files beside it. The last line says what was not reached.

PyTorch is the peer, if it is installed; all work is on one stream. Cases are timed by events around batches of
launches, in turns. The stream is kept busy while a batch is queued, so the measured time is that of the device. If
Python queued launches more slowly than the device executed them, a case is marked as bound by the launch. Launches
rotate through copies of the buffers, at least 256 MiB in all, so that no data is in L2.
"""
