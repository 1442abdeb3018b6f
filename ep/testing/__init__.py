"""The conformance suite: what every device owes to the contracts, as tests that a package of any device can run.

`pytest -p ep.testing.plugin --pyargs ep.testing --ep-device foo` tests devices of the type `foo`; the extra
`ep[testing]` has what that needs. `device_layer` tests the device, its memory and its streams; `primitive` has one file
for each primitive, whose keys are those that the device registers.
"""
