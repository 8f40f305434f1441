# SPDX-License-Identifier: Apache-2.0
"""The table that scripts/bench prints: what counts as met. Usage: python3 -B test_rows.py FOLDER-OF-ROWS"""
import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))
import rows  # noqa: E402


def figures(work, ours, peer=None, unit="x"):
    sides = {"ours": {"unit": unit, "samples": ours}}
    if peer is not None:
        sides["peer"] = {"unit": unit, "samples": peer}
    return {work: sides}


def line_of(found, work):
    return next(line for line in rows.evaluate(found) if line["work"] == work)


class Rows(unittest.TestCase):
    def met(self, work, ours, peer=None):
        return line_of(figures(work, [ours], None if peer is None else [peer]), work)["met"]

    def test_more_than_the_peer_is_asked_of_throughput(self):
        self.assertEqual(self.met("ipc_50_16", 300, 100), "aim")
        self.assertEqual(self.met("ipc_50_16", 299, 100), "must")
        self.assertEqual(self.met("ipc_50_16", 199, 100), "no")

    def test_less_than_the_peer_is_asked_of_time(self):
        self.assertEqual(self.met("hit_1_zipf_cpu", 100, 500), "aim")
        self.assertEqual(self.met("hit_1_zipf_cpu", 100, 400), "must")
        self.assertEqual(self.met("hit_1_zipf_cpu", 100, 399), "no")

    def test_a_cost_may_be_so_many_times_the_peers(self):
        self.assertEqual(self.met("ipc_50_1_cpu", 1.0, 1.0), "aim")
        self.assertEqual(self.met("ipc_50_1_cpu", 2.0, 1.0), "must")
        self.assertEqual(self.met("ipc_50_1_cpu", 2.1, 1.0), "no")

    def test_hit_ratios_differ_by_points(self):
        self.assertEqual(self.met("policy_zipf_2", 52.5, 47.0), "aim")
        self.assertEqual(self.met("policy_zipf_2", 51.5, 47.0), "must")
        self.assertEqual(self.met("policy_ttl4", 46.8, 47.0), "must")
        self.assertEqual(self.met("policy_ttl4", 46.6, 47.0), "no")

    def test_some_figures_have_no_peer(self):
        self.assertEqual(self.met("clear_call", 1.0), "aim")
        self.assertEqual(self.met("clear_call", 5.1), "no")
        self.assertEqual(self.met("snapshot_restore", 2e6), "aim")
        self.assertEqual(self.met("snapshot_restore", 9e5), "no")

    def test_the_median_is_judged_and_the_spread_shown(self):
        line = line_of(figures("ipc_50_16", [100, 900, 210], [100, 100, 1], "keys/s"), "ipc_50_16")
        self.assertEqual(line["ratio"], "2.10x")
        self.assertEqual(rows.shown(line["ours"]), "210 keys/s (100 to 900)")

    def test_what_was_not_measured_is_said(self):
        found = rows.evaluate({})
        self.assertEqual({line["met"] for line in found}, {"not measured"})
        self.assertEqual(self.met("ipc_50_16", 300), "not measured")  # no peer
        self.assertTrue(rows.as_text(rows.HEADS, [rows.cells(line) for line in found]))

    def test_numbers_are_short(self):
        self.assertEqual([rows.number(value) for value in (0.0123, 12.34, 1234.5, 12345, 2.5e6)],
                         ["0.0123", "12.3", "1,234", "12.3 k", "2.5 M"])


unittest.main()
