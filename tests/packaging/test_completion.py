# SPDX-License-Identifier: Apache-2.0
"""Types into real shells and presses the tabulator: bash and zsh on a terminal, fish by its `complete -C`.

usage: test_completion.py PACKAGING_BUILD_DIR BIN_DIR SOURCE_DIR
"""
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time

FILES, BIN, SOURCE = sys.argv[1:4]
CONF = """
listen "ipc://{0}/herdgate.sock" {{ access = "owner" }}
loader "tables" {{ plugin = "static" option("file", "{0}/names") }}
cache "auth" {{ key = "key_hash" value = "auth" }}
cache "features" {{ key = "bytes" value = "bytes" loader = "tables" }}
"""
# What is typed, and what the line is after the tabulator. @URL@ is the server's.
LINES = [
    ("herdgate gen", "herdgate generation "),
    ("herdgate load au", "herdgate load auth "),
    ("herdgate load --mode re", "herdgate load --mode revalidate "),
    ("herdgate load --mode=re", "herdgate load --mode=revalidate "),
    ("herdgate get -k api", "herdgate get -k api_key_feature "),
    ("herdgate -o js", "herdgate -o json "),
    ("herdgate -o json token rev", "herdgate -o json token revoke "),
    ("herdgate clear feat", "herdgate clear features "),
    ("herdgate loaders --reload ta", "herdgate loaders --reload tables "),
    ("herdgate watch --type inv", "herdgate watch --type invalidate "),
    ("herdgate top --sort p", "herdgate top --sort p99 "),
    ("herdgate ping --cou", "herdgate ping --count"),
    ("herdgate stats --token-file @DIR@/nam", "herdgate stats --token-file @DIR@/names "),
    ("herdgate clear auth aut", "herdgate clear auth aut"),
    ("herdgated --veri", "herdgated --verify"),
    ("herdgated -c @DIR@/nam", "herdgated -c @DIR@/names "),
    # Asked at the address on the line, not at the one in the environment.
    ("herdgate -e @URL@ load feat", "herdgate -e @URL@ load features "),
    ("herdgate -e @URL@x load feat", "herdgate -e @URL@x load feat"),
]
DUMP = {
    "bash": """PS1= ; bind 'set bell-style none'; bind 'set show-all-if-ambiguous off'
source {files}/herdgate.bash; source {files}/herdgated.bash
dump() {{ printf '%s\\n' "$READLINE_LINE" >>{dir}/lines; READLINE_LINE= ; READLINE_POINT=0; }}
bind -x '"\\C-x": dump'; echo >>{dir}/lines
""",
    "zsh": """PS1= ; fpath=({dir}/functions $fpath); autoload -U compinit; compinit -u -D; unsetopt beep auto_list
bindkey -e; bindkey -r '^X'; dump() {{ print -r -- "$BUFFER" >>{dir}/lines; BUFFER= }}; zle -N dump; bindkey '^X' dump
bindkey '^I' complete-word; KEYTIMEOUT=1; print >>{dir}/lines
""",
}
SHELLS = {"bash": ["bash", "--norc", "-i"], "zsh": ["zsh", "-f", "-i"]}


class Terminal:
    """A shell on a terminal of its own, which appends the line it edits to a file when it is told to."""

    def __init__(self, shell, folder):
        self.lines = os.path.join(folder, "lines")
        self.seen = b""
        open(self.lines, "w").close()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvp(SHELLS[shell][0], SHELLS[shell])
        start = DUMP[shell].format(files=FILES, dir=folder)
        self.send(start)
        self.wait_for(1)

    def send(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, count):
        """The last of that many lines. What the shell prints is read meanwhile, or it would stand still."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.01)[0]:
                self.seen += os.read(self.fd, 65536)
            with open(self.lines) as file:
                lines = file.read().split("\n")[:-1]
            if len(lines) >= count:
                return lines[count - 1]
        raise SystemExit("no answer from the shell, which said: %s" % self.seen.decode(errors="replace"))

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def is_same(found, expected):
    return found.rstrip("= ") == expected.rstrip("= ")  # what it puts behind is the shell's


def on_terminal(shell, folder, url, failures):
    terminal = Terminal(shell, folder)
    count = 1
    for typed, expected in LINES:
        typed, expected = [text.replace("@URL@", url).replace("@DIR@", folder) for text in (typed, expected)]
        for _ in range(5):  # the server is given a second to name its caches, which a busy machine may not have
            terminal.send(typed + "\t\x18")
            count += 1
            found = terminal.wait_for(count)
            if is_same(found, expected):
                break
        else:
            failures.append("%s: %r became %r, not %r" % (shell, typed, found, expected))
    terminal.close()


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout


def fish(line):
    script = "source %s/herdgate.fish; source %s/herdgated.fish; complete -C %s" % (FILES, FILES, "'%s'" % line)
    return [offer.split("\t")[0] for offer in run("fish", "--no-config", "-c", script).split("\n")[:-1]]


def in_fish(folder, url, failures):
    for typed, expected in LINES:
        typed, expected = [text.replace("@URL@", url).replace("@DIR@", folder) for text in (typed, expected)]
        begin = re.search(r"[^ ]*$", typed).group()
        offers = fish(typed)
        if typed == expected:
            continue  # there fish offers files
        word = expected[len(typed) - len(begin):].strip()
        if word not in offers:
            failures.append("fish: %r offers %r, not %r" % (typed, offers, word))


def all_verbs(failures):
    """Every verb of the program is offered, and nothing else."""
    with open(os.path.join(SOURCE, "client/cli/verbs.def")) as file:
        verbs = sorted(re.findall(r"^HGI_VERB_ROW\((\w+),", file.read(), re.M))
    if len(verbs) < 10:
        failures.append("verbs.def cannot be read")
    script = 'source "$1"; COMP_WORDS=(herdgate ""); COMP_CWORD=1; _herdgate; printf "%s\\n" "${COMPREPLY[@]}"'
    offered = {
        "bash": sorted(run("bash", "-c", script, "bash", FILES + "/herdgate.bash").split()),
        "fish": sorted(fish("herdgate ")),
    }
    with open(FILES + "/herdgate.zsh") as file:
        table = re.search(r"    verbs=\((.*?)\n    \)", file.read(), re.S).group(1)
    offered["zsh"] = sorted(re.findall(r"^ *'(\w+):", table, re.M))
    for shell, words in offered.items():
        if words != verbs:
            failures.append("%s offers %r, and the verbs are %r" % (shell, words, verbs))


def hostile_names(folder, failures):
    """What stands on the line or comes from a server is never run."""
    fake, ran = folder + "/fake", folder + "/ran"
    with open(fake, "w") as file:
        file.write("#!/bin/sh\necho CACHE; echo 'x$(touch${IFS}%s)'; echo '`touch${IFS}%s`'; echo fine\n" % (ran, ran))
    os.chmod(fake, 0o755)
    script = """source "$1"
for words in "$2 load" "$2 --x\$(touch$IFS$3)" "$2 load --y\`touch$IFS$3\`" "$2 \$(touch$IFS$3)"; do
    read -ra COMP_WORDS <<<"$words "; COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _herdgate
    [[ $words != "$2 load" ]] || printf '%s\\n' "${COMPREPLY[@]}"
done"""
    offers = run("bash", "-c", script, "bash", FILES + "/herdgate.bash", fake, ran).split()
    if os.path.exists(ran) or offers != ["fine"]:
        failures.append("bash: of a server's names %r were offered; ran: %s" % (offers, os.path.exists(ran)))


def main():
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        url = "ipc://%s/herdgate.sock" % folder
        os.mkdir(folder + "/functions")
        for name in ("herdgate", "herdgated"):
            os.symlink("%s/%s.zsh" % (FILES, name), "%s/functions/_%s" % (folder, name))
        with open(folder + "/names", "w") as file:
            file.write("a\tb\n")
        with open(folder + "/conf", "w") as file:
            file.write(CONF.format(folder))
        os.environ.update(HERDGATE_URL=url, PATH=BIN + ":" + os.environ["PATH"], TERM="dumb", HOME=folder)
        server = subprocess.Popen([BIN + "/herdgated", "-c", folder + "/conf"], stdout=subprocess.PIPE)
        try:
            if b"ready" not in server.stdout.readline():
                raise SystemExit("the server did not start")
            all_verbs(failures)
            hostile_names(folder, failures)
            for shell in SHELLS:
                on_terminal(shell, folder, url, failures)
            in_fish(folder, url, failures)
        finally:
            server.terminate()
            server.wait()
    for failure in failures:
        print("FAIL: " + failure)
    return 1 if failures else 0


sys.exit(main())
