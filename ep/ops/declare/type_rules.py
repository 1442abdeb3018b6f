"""Rules for the type of a result, given the types of the inputs. Each rule can be applied, and printed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from ep.include.data_type import DataType, as_data_type


class TypeRule(ABC):
    """The rule for the type of an operator's result."""

    @abstractmethod
    def result(self, types: Mapping[str, DataType], attributes: Mapping[str, Any]) -> DataType:
        """Return the result's type for inputs of `types`, by name."""

    def attributes(self) -> frozenset[str]:
        """Return the names of the attributes that the type depends on."""
        return frozenset()

    @abstractmethod
    def __str__(self) -> str: ...


class SameAs(TypeRule):
    """The type of one of the inputs."""

    def __init__(self, name: str) -> None:
        """name: the input's."""
        self.name = name

    def result(self, types: Mapping[str, DataType], attributes: Mapping[str, Any]) -> DataType:
        return types[self.name]

    def __str__(self) -> str:
        return f"that of {self.name}"


class Given(TypeRule):
    """The type that an attribute names."""

    def __init__(self, attribute: str) -> None:
        """attribute: the name of the attribute."""
        self.attribute = attribute

    def result(self, types: Mapping[str, DataType], attributes: Mapping[str, Any]) -> DataType:
        return as_data_type(attributes[self.attribute], self.attribute)

    def attributes(self) -> frozenset[str]:
        return frozenset([self.attribute])

    def __str__(self) -> str:
        return self.attribute


class Always(TypeRule):
    """One type, independent of the inputs."""

    def __init__(self, data_type: DataType) -> None:
        """data_type: the result's."""
        self.data_type = data_type

    def result(self, types: Mapping[str, DataType], attributes: Mapping[str, Any]) -> DataType:
        return self.data_type

    def __str__(self) -> str:
        return str(self.data_type.dtype)
