"""Adds up the xunit reports and exit codes in a folder; prints the failures, each with the end of what it said, and, last, `N passed, N failed`,
with `, N skipped` if any were.

    summarize.py FOLDER [--may-skip=REGEX]...

A skipped test is one that somebody meant to leave out: its line `TAG: NAME: reason` matches one of the expressions. Any other fails."""
import pathlib
import re
import sys
import xml.etree.ElementTree as ET

# Of what a failed test printed; the log of a run elsewhere may be cut to its end.
SHOWN_LINES = 40


def main(folder, *flags):
    may_skip = [re.compile(flag.partition("=")[2]) for flag in flags if flag.startswith("--may-skip=")]
    passed, skipped, failures = 0, 0, []
    for exit_file in sorted(pathlib.Path(folder).glob("*.exit")):
        status = int(exit_file.read_text())
        report = exit_file.with_suffix(".xml")
        failed_here = 0
        try:
            cases = list(ET.parse(report).getroot().iter("testcase"))
        except (OSError, ET.ParseError):
            cases = []
            failures.append(f"{exit_file.stem}: no report, exit status {status}")
            continue
        for case in cases:
            name = f"{exit_file.stem}: {case.get('classname', '')}.{case.get('name', '')}"
            skip = case.find("skipped")
            faults = [*case.iter("failure"), *case.iter("error")]
            if faults:
                said = "\n".join(fault.text or fault.get("message") or "" for fault in faults).strip().splitlines()
                failures.append("\n    ".join([name, *said[-SHOWN_LINES:]]))
                failed_here += 1
            elif skip is not None:
                line = f"{name}: {' '.join((skip.get('message') or '').split())}"
                if any(expression.search(line) for expression in may_skip):
                    skipped += 1
                else:
                    failures.append(f"{line} (skipped, which nobody asked for)")
            elif case.get("status") != "notrun":
                passed += 1
        # A crash after the last reported test, or a sanitizer's report at exit.
        if status != 0 and failed_here == 0:
            failures.append(f"{exit_file.stem}: exit status {status}")
    if passed == 0 and not failures:
        failures.append("no test ran")
    for failure in failures:
        print(f"FAILED {failure}")
    print(f"{passed} passed, {len(failures)} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
