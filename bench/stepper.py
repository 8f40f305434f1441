# SPDX-License-Identifier: Apache-2.0
"""stepper: programs that are measured in turn."""
import subprocess


class WrongAnswers(Exception):
    """The only way a benchmark fails."""


class Stepper:
    """A program that makes one sample for each line it is given."""

    def __init__(self, command: list):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.line()

    def line(self) -> str:
        line = self.process.stdout.readline()
        if not line:
            raise WrongAnswers(" ".join(self.process.args))
        return line

    def sample(self) -> str:
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.line()

    def stop(self):
        self.process.stdin.close()
        self.process.wait(30)
