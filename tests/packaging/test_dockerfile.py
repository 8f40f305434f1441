# SPDX-License-Identifier: Apache-2.0
"""What can be said of the Dockerfile where there is no engine to build it: each thing it copies is there and not
ignored, each command of the build stage is a script of the project called as it wants to be, each RUN line is a shell
line without fault, and what the image starts and asks itself is in the package, run by somebody who is not root.

usage: test_dockerfile.py SOURCE_DIR PACKAGES_DIR
"""
import fnmatch
import json
import os
import re
import subprocess
import sys

SOURCE, PACKAGES = sys.argv[1:3]
failures = []


def check(holds, sentence):
    if not holds:
        failures.append(sentence)


def read(name):
    with open(os.path.join(SOURCE, name)) as file:
        return file.read()


def instructions():
    """The stages: a list of lists of (instruction, its text)."""
    text = re.sub(r"^#.*\n", "", read("Dockerfile"), flags=re.M).replace("\\\n", " ")
    stages = []
    for line in filter(str.strip, text.split("\n")):
        word, _, rest = line.partition(" ")
        if word == "FROM":
            stages.append([])
        stages[-1].append((word, rest.strip()))
    return stages


def packaged_files():
    """The package the image installs, and the programs in it."""
    names = fnmatch.filter(os.listdir(PACKAGES), "herdgate_*.deb")
    check(len(names) > 0, "no package in " + PACKAGES)
    said = subprocess.run(["dpkg-deb", "--contents", os.path.join(PACKAGES, sorted(names)[-1])], check=True,
                          stdout=subprocess.PIPE, universal_newlines=True).stdout
    return names, {os.path.basename(line.split()[5]) for line in said.split("\n") if " ./usr/bin/" in line}


def check_copies(stage, names, stage_names):
    ignored = read(".dockerignore").split()
    for text in (rest for word, rest in stage if word == "COPY"):
        words = text.split()
        origin = words.pop(0)[len("--from="):] if words[0].startswith("--from=") else None
        for source in words[:-1]:
            if origin:
                check(origin in stage_names, "COPY from %s, which is no stage" % origin)
                folder, pattern = os.path.split(source)
                check(folder == "/src/build/deb", "%s is not where scripts/package puts packages" % source)
                check(fnmatch.filter(names, pattern) == names, "%s is not the server's package" % source)
            else:
                check(os.path.exists(os.path.join(SOURCE, source)), "COPY %s: there is no such file" % source)
                check(source.split("/")[0] not in ignored, "COPY %s: .dockerignore leaves it out" % source)


def check_run(text):
    shell = "#!/bin/sh\nset -eu\n" + text + "\n"
    said = subprocess.run(["shellcheck", "-"], input=shell, stdout=subprocess.PIPE, universal_newlines=True)
    check(said.returncode == 0, "RUN %s:\n%s" % (text, said.stdout))


def check_script(text):
    """A line of the build stage: a script that is there, with an argument its usage names; README names scripts/package."""
    script, *arguments = text.split()
    path = os.path.join(SOURCE, script)
    check(script.startswith("scripts/") and os.access(path, os.X_OK), "RUN %s: no script of the project" % text)
    for argument in arguments:
        usage = re.search(r"^# Usage: (.*)$", read(script), re.M).group(1)
        check(re.search(r"[\[|]%s[\]|]" % re.escape(argument), usage), "RUN %s: usage is %s" % (text, usage))


def main():
    stages = instructions()
    check(len(stages) == 2, "not two stages")
    build, image = stages
    names, programs = packaged_files()
    for stage in stages:
        check(stage[0][1].split()[0] == "debian:12-slim", "FROM %s is not Debian 12" % stage[0][1])
        for word, text in stage:
            if word == "RUN":
                check_run(text)
    stage_names = [build[0][1].split()[-1]]
    check_copies(build, names, stage_names)
    check_copies(image, names, stage_names)

    runs = [text for word, text in build if word == "RUN"]
    check(runs == ["scripts/deps build", "scripts/package"], "the build stage runs %r" % runs)
    for text in runs:
        check_script(text)
    check("scripts/package" in read("README.md"), "README does not say how packages are made")

    said = dict(image)
    check(said.get("USER") == "herdgate", "the image runs as %s" % said.get("USER"))
    order = [word for word, _ in image]
    check(order.index("USER") > max(at for at, word in enumerate(order) if word == "RUN"), "USER stands before a RUN")
    start = json.loads(said["ENTRYPOINT"]) + json.loads(said["CMD"])
    check(start[0] in programs, "%s is not in the package" % start[0])
    unit = read("packaging/systemd/herdgate.service")
    check("ExecStart=/usr/bin/" + " ".join(start) + "\n" in unit, "the image starts %r, the unit something else" % start)
    health = json.loads(re.search(r"CMD (\[.*\])", said["HEALTHCHECK"]).group(1))
    verbs = re.findall(r"^HGI_VERB_ROW\((\w+),", read("client/cli/verbs.def"), re.M)
    check(health[0] in programs and health[1] in verbs, "HEALTHCHECK %r cannot be run" % health)


main()
for failure in failures:
    print("FAIL: " + failure)
sys.exit(1 if failures else 0)
