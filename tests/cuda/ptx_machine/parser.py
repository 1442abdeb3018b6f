"""Reads PTX."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.cuda.ptx_machine.syntax import (
    Address,
    BranchTargets,
    Function,
    Group,
    Instruction,
    Label,
    Literal,
    Module,
    Name,
    Operand,
    Scope,
    Statement,
    UnknownPtxError,
    Variable,
)

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
      |(?P<word>[%$_A-Za-z0-9.](?:[\w$.%]|::)*)
      |(?P<string>"[^"]*")
      |(?P<mark>[;{}(),:\[\]<>=@!|+-])""",
    re.VERBOSE | re.DOTALL,
)
_SPACES = ("reg", "param", "local", "shared", "global", "const")
_LINKING = (".visible", ".extern", ".weak", ".common")
_HEADERS = (".version", ".target", ".address_size", ".file")
_PERFORMANCE = (".noreturn", ".maxntid", ".minnctapersm", ".reqntid", ".maxnreg", ".pragma", ".loc")


def parse(text: str) -> Module:
    """Read a module; raise UnknownPtxError for unknown PTX."""
    return _Parser(text).module()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._place = 0

    # tokens

    @property
    def _next(self) -> str:
        return self._tokens[self._place][0]

    @property
    def _line(self) -> int:
        return self._tokens[self._place][2]

    def _take(self) -> str:
        self._place += 1
        return self._tokens[self._place - 1][0]

    def _accept(self, token: str) -> bool:
        if self._next != token:
            return False
        self._place += 1
        return True

    def _expect(self, token: str) -> None:
        if not self._accept(token):
            raise self._unknown()

    def _unknown(self) -> UnknownPtxError:
        line = self._line
        return UnknownPtxError(f"line {line} of the PTX is not known: {self._text.splitlines()[line - 1].strip()!r}")

    # the contents of a module

    def module(self) -> Module:
        module = Module()
        while self._next:
            if self._next in _HEADERS:
                self._to_end_of_line()
                continue
            linking = []
            while self._next in _LINKING:
                linking.append(self._take())
            if self._next in (".entry", ".func"):
                if (function := self._function()) is not None:
                    module.functions.append(function)
            else:
                module.variables += self._variables(".extern" in linking)
                self._expect(";")
        return module

    def _to_end_of_line(self) -> None:
        line = self._line
        while self._next and self._line == line:
            self._place += 1

    def _function(self) -> Function | None:
        """Read a function; return None if it is only declared."""
        entry = self._take() == ".entry"
        results = self._parameters() if self._next == "(" else []
        function = Function(self._take(), entry, results)
        if self._next == "(":
            function.parameters = self._parameters()
        while self._next in _PERFORMANCE:
            self._take()
            while self._next not in ("{", ";") and not self._next.startswith("."):
                self._take()
        if self._accept(";"):
            return None
        self._expect("{")
        depth = 1
        while depth:
            if self._accept("{"):
                depth += 1
                function.body.append(Scope(True))
            elif self._accept("}"):
                depth -= 1
                function.body.append(Scope(False))
            else:
                function.body += self._statement()
        function.body.pop()  # the end of the function
        return function

    def _parameters(self) -> list[Variable]:
        self._expect("(")
        parameters: list[Variable] = []
        while not self._accept(")"):
            parameters += self._variables(False, one=True)
            self._accept(",")
        return parameters

    def _variables(self, extern: bool, one: bool = False) -> list[Variable]:
        """Read variables: `.space .align 4 .v2 .type name[count] = {...}, name, ...`."""
        line, space, type_name, alignment, lanes = self._line, "", "", 0, 1
        while self._next.startswith("."):
            word = self._take()[1:]
            if word in _SPACES:
                space = word
            elif word == "align":
                alignment = int(self._take())
            elif word in ("ptr", "noalias"):
                pass
            elif word in ("v2", "v4"):
                lanes = int(word[1])
            else:
                type_name = word
        if not space or not type_name:
            raise self._unknown()
        variables = []
        while True:
            name, count, registers, values = self._take(), lanes, None, ()
            if self._accept("<"):
                registers = int(self._take())
                self._expect(">")
            while self._accept("["):
                count *= 0 if self._next == "]" else int(self._take())
                self._expect("]")
            if self._accept("="):
                values = tuple(self._values())
            variables.append(
                Variable(line, space, type_name, name, 0 if extern else count, alignment, registers, values)
            )
            if one or not self._accept(","):
                return variables

    def _values(self) -> Iterator[Literal]:
        if not self._accept("{"):
            yield self._literal()
            return
        while not self._accept("}"):
            yield from self._values() if self._next == "{" else (self._literal(),)
            self._accept(",")

    def _literal(self) -> Literal:
        sign = "-" if self._accept("-") else ""
        if not self._next[:1].isdigit():
            raise self._unknown()
        return Literal(sign + self._take())

    # statements

    def _statement(self) -> list[Statement]:
        if self._next in (".loc", ".pragma"):
            self._to_end_of_line()
            return []
        if self._next.startswith("."):
            variables = self._variables(False)
            self._expect(";")
            return list(variables)
        if self._tokens[self._place + 1][0] == ":":
            name = self._take()
            self._take()
            if self._accept(".branchtargets"):
                return [BranchTargets(name, tuple(part.text for part in self._operands() if isinstance(part, Name)))]
            return [Label(name)]
        begin, line, guard = self._tokens[self._place][1], self._line, None
        if self._accept("@"):
            negated = self._accept("!")
            guard = Name(self._take(), negated)
        name, *modifiers = self._take().split(".")
        operands = self._operands()
        end = self._tokens[self._place - 1][1]
        text = " ".join(self._text[begin:end].split())
        return [Instruction(line, name, tuple(modifiers), operands, guard, text)]

    def _operands(self) -> tuple[Operand, ...]:
        operands: list[Operand] = []
        while not self._accept(";"):
            operands.append(self._operand())
            if self._next != ";":
                self._expect(",")
        return tuple(operands)

    def _operand(self) -> Operand:
        for opening, closing in ("{}", "()"):
            if self._accept(opening):
                parts: list[Operand] = []
                while not self._accept(closing):
                    parts.append(self._operand())
                    self._accept(",")
                return Group(tuple(parts))
        if self._accept("["):
            base = self._plain()
            offset = 0
            while not self._accept("]"):
                if not self._accept("+") and self._next != "-":
                    raise self._unknown()
                offset += int(self._literal().text, 0)
            if isinstance(base, Group):
                raise self._unknown()
            return Address(base, offset)
        first = self._plain()
        if isinstance(first, Name) and self._next in "+-":
            self._accept("+")
            return Address(first, int(self._literal().text, 0))  # the address of a part of a variable
        if self._accept("|"):
            return Group((first, self._plain()))
        return first

    def _plain(self) -> Name | Literal:
        if self._accept("!"):
            return Name(self._take(), negated=True)
        if self._next == "-" or self._next[:1].isdigit():
            return self._literal()
        if not re.match(r"[%$_A-Za-z]", self._next):
            raise self._unknown()
        return Name(self._take())


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each token with its position in the text and its line; then two empty tokens."""
    place, line = 0, 1
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise UnknownPtxError(f"line {line} of the PTX is not known: {text.splitlines()[line - 1].strip()!r}")
        if match.lastgroup == "skip":
            line += match[0].count("\n")
        else:
            yield match[0], place, line
        place = match.end()
    yield from [("", place, line)] * 2
