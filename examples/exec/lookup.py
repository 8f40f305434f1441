#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A herdgate loader in Python: looks up keys in a JSON file, and says so when the file has changed.

The file: {"KEY": {"allowed": true, "user_id": "...", "scopes": ["..."]}, ...} for a cache of auth, else
{"KEY": anything}."""
import json
import os
import threading

import herdgate_loader as herdgate


class Lookup:
    def open(self, settings):
        self.path = settings.pop("file", "")
        if settings or not self.path.startswith("/"):
            raise herdgate.Refused("lookup.py takes one option, \"file\", an absolute path")
        self.lock = threading.Lock()
        self.seen = None
        try:
            self._read()
        except (OSError, ValueError) as error:
            raise herdgate.Refused("option \"file\": %s: %s" % (self.path, error)) from error
        # Another process may have filled the caches before, from a file that was another one.
        self.server.invalidate_all()
        threading.Thread(target=self._watch, daemon=True).start()

    def _read(self):
        about = os.stat(self.path)
        with open(self.path, encoding="utf-8") as file:
            entries = json.load(file)
        with self.lock:
            self.entries, self.seen = entries, (about.st_ino, about.st_mtime_ns, about.st_size)

    def _watch(self):
        said = ""
        while True:
            try:
                about = os.stat(self.path)
                if (about.st_ino, about.st_mtime_ns, about.st_size) != self.seen:
                    self._read()
                    self.server.invalidate_all()
                said = ""
            except (OSError, ValueError) as error:
                if said != str(error):  # once, not five times a second
                    said = str(error)
                    self.server.log(herdgate.WARN, "%s: %s; the old entries go on" % (self.path, said))
            threading.Event().wait(0.2)

    def load(self, request):
        with self.lock:
            entry = self.entries.get(request.key.decode(errors="replace"))
        if entry is None:
            return herdgate.ABSENT
        if request.value_type == herdgate.AUTH:
            return herdgate.Value(herdgate.Auth(allowed=entry["allowed"] is True, user_id=entry["user_id"],
                                                scopes=entry.get("scopes", [])))
        if request.value_type == herdgate.JSON:
            return herdgate.Value(json.dumps(entry), tags=["all-of-it"])
        return herdgate.Value(str(entry).encode())

    def health(self):
        return None if os.path.exists(self.path) else "%s is gone" % self.path


if __name__ == "__main__":
    herdgate.serve(Lookup(), "lookup", "1.0")
