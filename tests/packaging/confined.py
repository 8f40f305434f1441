# SPDX-License-Identifier: Apache-2.0
"""Runs a program under what the unit takes from it, as far as that can be done without systemd: the filter of system
calls and what else systemd makes of seccomp, its limits, its umask, no new privileges. Users, capabilities and mounts
are for who calls this.

usage: confined.py UNIT PROGRAM [ARGUMENT...]
"""
import os
import resource
import stat
import subprocess
import sys

import seccomp

EPERM, ENOSYS = seccomp.ERRNO(1), seccomp.ERRNO(38)
MMAP_WRITE, MMAP_EXEC, SHM_EXEC = 2, 4, 0o100000
CLONE_NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10}


def read_unit(path):
    """The settings of [Service]: name to the list of its values. One without a value empties what came before."""
    settings = {}
    with open(path) as file:
        for line in file.read().split("[Service]")[1].split("[Install]")[0].split("\n"):
            name, equals, value = line.strip().partition("=")
            if equals and not name.startswith("#"):
                settings.setdefault(name, []).append(value)
    return settings


def expand(name, known):
    """The system calls of a set, which may have other sets in it, as systemd lists them."""
    if not name.startswith("@"):
        return {name}
    if name not in known:
        known[name] = set()
        said = subprocess.run(["systemd-analyze", "syscall-filter", name], check=True, stdout=subprocess.PIPE,
                              universal_newlines=True).stdout
        for line in said.split("\n")[1:]:
            word = line.strip()
            if word and not word.startswith("#"):
                known[name] |= expand(word, known)
    return known[name]


def allowed_calls(lines):
    known, allowed = {}, set()
    for line in lines:
        takes_away = line.startswith("~")
        for word in line.lstrip("~").split():
            allowed = allowed - expand(word, known) if takes_away else allowed | expand(word, known)
    return allowed


def denials(unit):
    """What the settings without a list of system calls refuse: the call, and of which of its arguments."""
    masked = seccomp.MASKED_EQ
    if unit["MemoryDenyWriteExecute"] == ["yes"]:
        both = MMAP_WRITE | MMAP_EXEC
        yield "mmap", seccomp.Arg(2, masked, both, both)
        yield "mprotect", seccomp.Arg(2, masked, MMAP_EXEC, MMAP_EXEC)
        yield "pkey_mprotect", seccomp.Arg(2, masked, MMAP_EXEC, MMAP_EXEC)
        yield "shmat", seccomp.Arg(2, masked, SHM_EXEC, SHM_EXEC)
    if unit["RestrictNamespaces"] == ["yes"]:
        for bit in (1 << number for number in range(32) if CLONE_NAMESPACES >> number & 1):
            yield "clone", seccomp.Arg(0, masked, bit, bit)
            yield "unshare", seccomp.Arg(0, masked, bit, bit)
        yield ("setns",)
    if unit["RestrictSUIDSGID"] == ["yes"]:
        for bit in (stat.S_ISUID, stat.S_ISGID):
            for call, at in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("mkdir", 1), ("mkdirat", 2)):
                yield call, seccomp.Arg(at, masked, bit, bit)
    if unit["RestrictRealtime"] == ["yes"]:
        for policy in (1, 2, 6):
            yield "sched_setscheduler", seccomp.Arg(1, seccomp.EQ, policy)
    known = {FAMILIES[name] for name in unit["RestrictAddressFamilies"][0].split()}
    for family in sorted(set(range(64)) - known):
        yield "socket", seccomp.Arg(0, seccomp.EQ, family)


def filters_of(unit):
    """Where two filters speak, the stricter one wins."""
    refusals = seccomp.SyscallFilter(seccomp.ALLOW)
    for denial in denials(unit):
        refusals.add_rule(EPERM, *denial)
    refusals.add_rule(ENOSYS, "clone3")  # its flags cannot be seen; the C library then takes clone
    calls = seccomp.SyscallFilter(EPERM)
    for call in sorted(allowed_calls(unit["SystemCallFilter"])):
        try:
            calls.add_rule(seccomp.ALLOW, call)
        except RuntimeError:
            pass  # not on this machine's architecture
    return refusals, calls


def main():
    unit = read_unit(sys.argv[1])
    os.umask(int(unit["UMask"][0], 8))
    files, core = int(unit["LimitNOFILE"][0]), int(unit["LimitCORE"][0])
    files = min(files, resource.getrlimit(resource.RLIMIT_NOFILE)[1])  # only systemd may raise it
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    resource.setrlimit(resource.RLIMIT_CORE, (core, core))
    assert unit["NoNewPrivileges"] == ["yes"]  # loading a filter sets it
    for rules in filters_of(unit):
        rules.load()
    os.execv(sys.argv[2], sys.argv[2:])


main()
