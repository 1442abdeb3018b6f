"""`python -m ep` runs the command `ep`."""

from ep.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
