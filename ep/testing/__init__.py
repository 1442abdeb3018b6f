"""The conformance suite: the requirements of the contracts on every device, as tests that any package can run.

`pytest -p ep.testing.plugin --pyargs ep.testing --ep-device foo` tests devices of the type `foo`; the extra
`testing` installs the dependencies. `device_layer` tests the device, its memory and its streams; `primitive` has
one file for each primitive, which runs with the keys that the device registers.
"""
