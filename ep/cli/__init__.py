"""The command line `ep`."""
