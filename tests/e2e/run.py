"""End-to-end tests of the live service with the real things around it: see README.md beside this file."""

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import time

import stack

HERE = os.path.dirname(os.path.abspath(__file__))
PARTS = ("faults", "delivery", "own", "durable")


class Context:
    """What all parts need: programs, folders, and that everything started also ends."""

    def __init__(self, args, work):
        self.here, self.root, self.work = HERE, os.path.dirname(os.path.dirname(HERE)), work
        self.binary = os.path.abspath(args.binary)
        self.python, self.tools, self.js = sys.executable, os.path.join(args.tools, "bin"), args.js
        self.active, self.spans, self.kills = args.active, args.spans, args.kills
        self.ending = contextlib.ExitStack()

    def folder(self, name):
        return os.path.join(self.work, name)

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def own(self, program):
        """A program that ends with the run, however that ends."""
        self.ending.callback(program.stop, 5)
        return program

    def end(self, *programs):
        for program in programs:
            program.stop(10)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", help="the program a2a-drift")
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all without")
    parser.add_argument("--tools", required=True, help="folder that tests/tools/fetch/fetch filled")
    parser.add_argument("--js", required=True, help="folder with the packages of tests/tools/js-sdk")
    parser.add_argument("--spans", type=int, default=100_000, help="spans that each of the four exporters delivers")
    parser.add_argument("--kills", type=int, default=20, help="how often the service is killed")
    parser.add_argument("--active", type=int, default=60, help="seconds until a finding that is not seen again is over")
    parser.add_argument("--keep", help="folder to work in, which stays")
    args = parser.parse_args()
    wanted = args.parts or PARTS
    for name in wanted:
        if name not in PARTS:
            parser.error(f"there is no part {name}")
    work = args.keep or tempfile.mkdtemp(prefix="a2a-drift-e2e-")
    os.makedirs(work, exist_ok=True)
    context, started, ended_well = Context(args, work), time.monotonic(), False
    try:
        with context.ending:
            stack.main_of([(name, lambda name=name: __import__(name).run(context)) for name in wanted])
        ended_well = True
    finally:
        if ended_well and not args.keep:
            shutil.rmtree(work, ignore_errors=True)
        elif not ended_well:
            stack.say(f"logs and data are in {work}")
    stack.say(f"\nend to end: all passed in {time.monotonic() - started:.0f} s: {', '.join(wanted)}")


main()
