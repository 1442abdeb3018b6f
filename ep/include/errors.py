"""The exceptions of the framework that are not plain TypeError, ValueError or IndexError."""


class UnsupportedPrimitiveError(LookupError):
    """No registered factory makes the primitive that was required; the message says what is nearest and why."""


class DeviceUnavailableError(RuntimeError):
    """A device type is unknown, or its hardware, driver or package is missing; the message says which."""


class EnvironmentVariableError(ValueError):
    """An environment variable is set to what is not valid; the message says which, to what, and what is valid."""


class DuplicateRegistrationError(ValueError):
    """Two factories, device types or device managers claim the same place in a registry."""
