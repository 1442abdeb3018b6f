"""The global names that code loads."""

import dis

from ep.common.global_names import names_in


def test_names_of_globals_are_those_that_dis_finds():
    many = "".join(f"some_name_{k}.attribute\n" for k in range(700))  # numbers of more than one byte
    texts = [many, f"def f():\n{many.replace('some', '  some')}", "class A:\n  x = len(y)\n  z = lambda self: q(x.w)"]
    for code in [*(compile(text, "text", "exec") for text in texts), dis.dis.__code__]:
        found, todo = set(), [code]
        while todo:
            one = todo.pop()
            todo += [inner for inner in one.co_consts if hasattr(inner, "co_code")]
            found |= {each.argval for each in dis.get_instructions(one) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
        assert names_in(code) == found
