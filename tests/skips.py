"""The skipped tests that docs/support.md lists with their reasons: `--ep-listed-skips` has a run fail with others."""

import re
from fnmatch import fnmatchcase

TABLE = re.compile(r"^\| skipped tests \| reason \|\n\|---\|---\|\n((?:\|.*\n)+)", re.MULTILINE)
ROW = re.compile(r"^\| `(.+?)` \| `(.+)` \|$", re.MULTILINE)


def listed(text):
    """Return the files and the reasons of the table. A star in a reason stands for any words."""
    (table,) = TABLE.findall(text)
    rows = ROW.findall(table)
    if len(rows) != table.count("\n"):
        raise ValueError(f"each row must be a file and a reason, both between backquotes:\n{table}")
    return rows


def unlisted(reports, file):
    """Return a line for each report of a skipped test that the table of `file` does not list with this reason."""
    table, lines = listed(file.read_text(encoding="utf-8")), []
    for report in reports:
        skipped, reason = report.nodeid.partition("::")[0], report.longrepr[2].removeprefix("Skipped: ")
        if not any(skipped == one and fnmatchcase(reason, form) for one, form in table):
            lines.append(f"{report.nodeid}: {reason}")
    return lines
