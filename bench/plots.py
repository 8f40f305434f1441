# SPDX-License-Identifier: Apache-2.0
"""plots: two pictures, drawn by gnuplot."""
import os
import re
import subprocess

STYLE = """
set terminal pngcairo size 900,{height} font "sans,10"
set output "{output}"
set grid lc rgb "#dddddd"
set logscale x
set key left top
set border 3
set tics nomirror
set format x "%.0s%c"
"""

CONNECTIONS = STYLE + """
set multiplot layout 2,1
set xrange [1:*]
set xlabel "connections, 1 request in flight on each"
set ylabel "thousand GETs a second"
set yrange [0:*]
plot "{data}" using 1:($2/1000) with linespoints lw 2 pt 7 lc rgb "#1b6ca8" title "herdgate, ipc", \\
     "" using 1:($5/1000) with linespoints lw 2 pt 5 lc rgb "#c0392b" title "redis, unix socket"
set ylabel "microseconds"
set logscale y
set yrange [*:*]
plot "{data}" using 1:3 with linespoints lw 2 pt 7 lc rgb "#1b6ca8" title "herdgate p50", \\
     "" using 1:4 with linespoints lw 1 dt 2 pt 6 lc rgb "#1b6ca8" title "herdgate p99", \\
     "" using 1:6 with linespoints lw 2 pt 5 lc rgb "#c0392b" title "redis p50", \\
     "" using 1:7 with linespoints lw 1 dt 2 pt 4 lc rgb "#c0392b" title "redis p99"
"""

SIZE = STYLE + """
set xlabel "entries (40 + 100 bytes each), read uniformly by one thread"
set ylabel "nanoseconds of CPU a hit"
set yrange [0:*]
plot "{data}" using 1:2 with linespoints lw 2 pt 7 lc rgb "#1b6ca8" title "herdgate's table", \\
     "" using 1:3 with linespoints lw 2 pt 5 lc rgb "#c0392b" title "mutex + GHashTable", \\
     "" using 1:4 with linespoints lw 2 pt 9 lc rgb "#777777" title "memory alone, reads overlapping", \\
     "" using 1:5 with linespoints lw 2 dt 2 pt 8 lc rgb "#777777" title "memory alone, one after the other"
"""


def draw(template: str, name: str, height: int, lines: list, folder: str):
    os.makedirs(folder, exist_ok=True)
    data = os.path.join(folder, f"{name}.dat")
    with open(data, "w", encoding="ascii") as file:
        file.write("\n".join(" ".join(map(str, line)) for line in lines) + "\n")
    script = template.format(output=os.path.join(folder, f"{name}.png"), data=data, height=height)
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def draw_all(figures: dict, curve: list, folder: str):
    draw(CONNECTIONS, "connections", 720,
         [[point["connections"]] + [point[side][value] for side in ("ours", "peer")
                                    for value in ("per_s", "p50_us", "p99_us")] for point in curve], folder)
    sizes = sorted(int(found.group(1)) for found in (re.fullmatch(r"growth_(\d+)", work) for work in figures) if found)
    lines = []
    for size in sizes:
        sides = figures[f"growth_{size}"]
        lines.append([size] + [sorted(sides[side]["samples"])[len(sides[side]["samples"]) // 2]
                               if side in sides else "nan" for side in ("ours", "peer", "bare", "chained")])
    draw(SIZE, "size", 420, lines, folder)
