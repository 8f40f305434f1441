# SPDX-License-Identifier: Apache-2.0
"""The real server while its wall clock is set (libfaketime). Usage: clock.py BUILD LIBFAKETIME
No value is served past its end, whichever way the clock goes; ages are the boot clock's and do not care."""
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from client import Client, pack  # noqa: E402

VALUE, NOT_CACHED = 1, 0
YEAR_S = 365 * 24 * 3600


class World:
    def __init__(self, build, faketime, folder):
        self.program, self.faketime, self.folder = os.path.join(build, "bin", "herdgated"), faketime, folder
        self.clock = os.path.join(folder, "clock")
        self.set_clock(0)
        with open(os.path.join(folder, "conf"), "w", encoding="utf-8") as file:
            file.write(f"""runtime_dir = "{folder}"
log_level = "error"
listen "ipc://{folder}/s" {{ access = "owner" }}
snapshot {{ path = "{folder}/data/cache.db" }}
cache "c" {{ key = "bytes" value = "bytes" ttl = "1h" }}
""")

    def set_clock(self, seconds):
        """So far ahead of the true time; from the next look at the clock on."""
        with open(self.clock + ".new", "w", encoding="utf-8") as file:
            file.write(f"{seconds:+d}\n")
        os.rename(self.clock + ".new", self.clock)

    def start(self):
        environment = dict(os.environ, LD_PRELOAD=self.faketime, FAKETIME_TIMESTAMP_FILE=self.clock, FAKETIME_NO_CACHE="1",
                           FAKETIME_DONT_FAKE_MONOTONIC="1", FAKETIME_DONT_RESET="1")
        self.process = subprocess.Popen([self.program, "-c", os.path.join(self.folder, "conf")], env=environment,
                                        stdout=subprocess.PIPE)
        assert b"ready" in self.process.stdout.readline()
        self.client = Client(os.path.join(self.folder, "s"))

    def stop(self):
        self.client.socket.close()
        self.process.terminate()
        assert self.process.wait(60) == 0

    def put(self, name, **ends):
        fields = [(7, ends["expires_at_ms"])] if ends else []
        self.client.call("Cache/Put", pack((1, b"c"), (2, pack((1, name))), (3, VALUE), (4, b"v"), *fields))

    def expect(self, when, **outcomes):
        for name, outcome in outcomes.items():
            came = self.client.call("Cache/Get", pack((1, b"c"), (2, pack((1, name.encode()))))).number(4)
            assert came == outcome, f"{when}: {name} is {came}, not {outcome}"
        print("ok", when)


def main():
    build, faketime = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="hg-clock-") as folder:
        world = World(build, faketime, folder)
        world.start()
        try:
            world.put(b"ages")
            world.put(b"ends", expires_at_ms=int(time.time() * 1000) + 600000)
            world.expect("at first", ages=VALUE, ends=VALUE)
            world.set_clock(YEAR_S)
            world.expect("a year ahead", ages=VALUE, ends=NOT_CACHED)
            world.set_clock(-YEAR_S)
            world.expect("a year back", ages=VALUE)
            world.put(b"later", expires_at_ms=int((time.time() - YEAR_S) * 1000) + 1500)
            world.expect("ends by a clock that is a year behind", later=VALUE)
            time.sleep(2)
            world.set_clock(-2 * YEAR_S)
            world.expect("and that was set back meanwhile", ages=VALUE, later=NOT_CACHED)
            world.set_clock(0)
            world.client.call("Admin/SaveSnapshot", b"")
            world.stop()
            world.set_clock(-YEAR_S)
            world.start()
            world.expect("a snapshot from this clock's future", ages=NOT_CACHED)
            world.put(b"again")
            world.expect("and it goes on", again=VALUE)
            world.stop()
        except BaseException:
            world.process.kill()
            raise


if __name__ == "__main__":
    main()
