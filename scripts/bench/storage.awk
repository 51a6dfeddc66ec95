# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# values.awk, storage.awk -v rows=ROWS -v who=DRIVERS storage.csv: the medians, and their ratios.
# If a driver has no value for a row at all the exit status is 1.

# show DRIVER CRC WHAT: the median; 0 if none was measured
function show(driver, crc, what,    mine) {
	mine = median(driver " " crc " " what)
	if (index(" " who " ", " " driver " ") && !mine)
		missing++
	return mine
}

# Each driver has boots of its own, so a speed of the machine that changes is in the ratio.
function over(mine, other, key) {
	if (mine && other && is_restless(key)) {
		doubts++
		return "?"
	}
	return ratio(mine, other)
}

FNR > 1 {
	add($2 " " $3 " " $4 " " $5 " " $6, $7)
}

END {
	printf "\nNVMe, requests a second\n"
	printf "%-10s %7s %5s %9s %9s %9s %9s %9s   %7s %7s %7s\n", "what", "size", "depth",
		"mpa, off", "mpa, on", "siw", "rxe", "tcp", "off/siw", "on/rxe", "off/tcp"
	n = split(rows, row, " ")
	for (i = 1; i <= n; i++) {
		split(row[i], part, ":")
		what = part[1] " " part[2] " " part[3]
		off = show("mpa", "off", what)
		on = show("mpa", "on", what)
		siw = show("siw", "off", what)
		rxe = show("rxe", "on", what)
		tcp = show("tcp", "off", what)
		printf "%-10s %7d %5d %9d %9d %9d %9d %9d   %7s %7s %7s\n", part[1], part[2],
			part[3], off, on, siw, rxe, tcp, over(off, siw, "siw off " what),
			over(on, rxe, "rxe on " what), over(off, tcp, "tcp off " what)
	}
	if (doubts)
		print "?: no ratio, because the other's rounds differ by more than a third. Measure " \
			"again when\nnothing else runs on this machine."
	if (missing)
		printf "%d could not be measured (0 above).\n", missing
	exit missing > 0
}
