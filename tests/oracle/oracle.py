"""The same views and rules on another engine: DuckDB over the exported fact tables.

usage: oracle.py QUERIES EXPORT REPORT [QUERIES EXPORT REPORT ...]

EXPORT is a folder of Parquet files that `a2a-drift analyze --export` wrote, REPORT the JSON that the same run printed with `--as-of`.
Prints one line a rule where the finding ids differ and exits 1; prints how many findings agreed.
"""

import glob
import hashlib
import json
import os
import sys
import tomllib
from datetime import datetime, timedelta, timezone

import duckdb

# What DataFusion has under another name, or only DataFusion has.
MACROS = [
    "CREATE MACRO array_has(list, item) AS list_contains(list, item)",
    "CREATE MACRO array_length(list) AS len(list)",
]


def load(path):
    """Header and text of a view or rule file."""
    lines = open(path, encoding="utf-8").read().split("\n")
    header = []
    for line in lines:
        if not line.startswith("-- "):
            break
        header.append(line[3:])
    return tomllib.loads("\n".join(header)), "\n".join(lines)


def run_in_order(engine, files):
    """Runs every file as a table of its name, as soon as what it reads is there."""
    left = {os.path.splitext(os.path.basename(path))[0]: load(path) for path in files}
    headers = {name: header for name, (header, _) in left.items()}
    while left:
        errors, before = {}, len(left)
        for name, (header, text) in list(left.items()):
            params = {key: value for key, value in header.get("params", {}).items() if f"${key}" in text}
            try:
                engine.execute(f'CREATE TABLE "{name}" AS {text}', params or None)
                del left[name]
            except duckdb.CatalogException as error:
                errors[name] = error
        if len(left) == before:
            raise SystemExit("\n".join(f"{name}: {error}" for name, error in errors.items()))
    return headers


def instant(nanos):
    """RFC 3339 with 0, 3, 6 or 9 fraction digits, as the program writes it."""
    seconds, rest = divmod(nanos, 1_000_000_000)
    text = (datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    for digits, unit in ((0, 10**9), (3, 10**6), (6, 10**3), (9, 1)):
        if rest % unit == 0:
            return f"{text}.{rest // unit:0{digits}d}Z" if digits else f"{text}Z"
    raise AssertionError("unreachable")


def written(value):
    """A value as the identity of a finding has it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def identity(rule, values):
    digest = hashlib.sha256()
    for part in [rule, *values]:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()[:16].hex()


def rows(engine, rule):
    """Rows of a rule as dictionaries; times as nanoseconds."""
    described = engine.execute(f'DESCRIBE "{rule}"').fetchall()
    times = {name for name, kind, *_ in described if kind.startswith("TIMESTAMP")}
    columns = [f'epoch_ns("{name}") AS "{name}"' if name in times else f'"{name}"' for name, *_ in described]
    result = engine.execute(f'SELECT {", ".join(columns)} FROM "{rule}"')
    names = [column[0] for column in result.description]
    return times, [dict(zip(names, row)) for row in result.fetchall()]


def findings(engine, headers, as_of):
    """Ids of the findings that fire, by rule."""
    fired = {}
    for rule, header in headers.items():
        times, found = rows(engine, rule)
        ids = fired.setdefault(rule, set())
        for row in found:
            due = row.get("due_at") or row["observed_at"]
            until = row.get("until_at")
            if due <= as_of and (until is None or as_of < until):
                values = [instant(row[c]) if c in times and row[c] is not None else written(row[c]) for c in header["entity"]]
                ids.add(identity(rule, values))
    return fired


def compare(queries, export, report):
    engine = duckdb.connect(config={"threads": 2})
    for macro in MACROS:
        try:
            engine.execute(macro)
        except duckdb.Error:
            pass  # a builtin of that name does the same
    for path in sorted(glob.glob(os.path.join(export, "*.parquet"))):
        table = os.path.splitext(os.path.basename(path))[0]
        engine.execute(f"""CREATE TABLE "{table}" AS SELECT * FROM read_parquet('{path}')""")
    run_in_order(engine, glob.glob(os.path.join(queries, "views", "*.sql")))
    headers = run_in_order(engine, glob.glob(os.path.join(queries, "rules", "*", "*.sql")))
    told = json.load(open(report, encoding="utf-8"))
    as_of = datetime.fromisoformat(told["summary"]["as_of"].replace("Z", "+00:00"))
    nanos = int(as_of.timestamp()) * 1_000_000_000 + as_of.microsecond * 1000
    by_duckdb = findings(engine, headers, nanos)
    by_program = {}
    for finding in told["findings"]:
        by_program.setdefault(finding["rule"], set()).add(finding["id"])
    wrong = 0
    for rule in sorted(headers):
        ours, theirs = by_program.get(rule, set()), by_duckdb.get(rule, set())
        if ours != theirs:
            wrong += 1
            print(f"{export}: {rule}: only the program: {sorted(ours - theirs)}; only DuckDB: {sorted(theirs - ours)}")
    agreed = sum(len(by_program.get(rule, set()) & ids) for rule, ids in by_duckdb.items())
    return wrong, agreed


def main():
    arguments = sys.argv[1:]
    if not arguments or len(arguments) % 3:
        raise SystemExit(__doc__)
    wrong = agreed = 0
    for index in range(0, len(arguments), 3):
        differing, same = compare(*arguments[index : index + 3])
        wrong, agreed = wrong + differing, agreed + same
    print(f"oracle: {agreed} findings agreed, {wrong} rules differed")
    raise SystemExit(1 if wrong or not agreed else 0)


if __name__ == "__main__":
    main()
