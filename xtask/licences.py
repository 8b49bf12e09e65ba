"""Checks that every crate we depend on has a licence that deny.toml allows, and comes from the registry or from here.

It does what `cargo deny check licenses sources` does, with nothing to install: Python 3.11 and cargo are enough.
"""
import json
import pathlib
import re
import subprocess
import sys
import tomllib

root = pathlib.Path(__file__).resolve().parent.parent
allowed = set(tomllib.loads((root / "deny.toml").read_text())["licenses"]["allow"])
metadata = json.loads(
    subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--locked"], cwd=root, check=True, capture_output=True
    ).stdout
)


def permits(expression: str) -> bool:
    """Whether one way to read an SPDX expression is allowed. `/` is how old crates write OR."""
    expression = expression.replace("/", " OR ")
    words = re.findall(r"\(|\)|[^\s()]+", expression)

    def either(at):
        value, at = both(at)
        while at < len(words) and words[at] == "OR":
            other, at = both(at + 1)
            value = value or other
        return value, at

    def both(at):
        value, at = single(at)
        while at < len(words) and words[at] == "AND":
            other, at = single(at + 1)
            value = value and other
        return value, at

    def single(at):
        if words[at] == "(":
            value, at = either(at + 1)
            return value, at + 1
        if at + 2 < len(words) and words[at + 1] == "WITH":
            return f"{words[at]} WITH {words[at + 2]}" in allowed or words[at] in allowed, at + 3
        return words[at] in allowed, at + 1

    return either(0)[0]


bad = []
for package in metadata["packages"]:
    name = f"{package['name']} {package['version']}"
    if not package["license"] or not permits(package["license"]):
        bad.append(f"{name}: the licence {package['license']} is not allowed by deny.toml")
    if package["source"] and not package["source"].startswith("registry+"):
        bad.append(f"{name}: comes from {package['source']}")
print("\n".join(bad) or f"{len(metadata['packages'])} packages: licences and sources are as deny.toml says")
sys.exit(bool(bad))
