# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# values.awk: functions of the other awk programs here

# A number of bytes, as "64 KiB"
function size_name(size) {
	if (size >= 1048576 && size % 1048576 == 0)
		return size / 1048576 " MiB"
	if (size >= 1024 && size % 1024 == 0)
		return size / 1024 " KiB"
	return size
}

# Values are sorted, and belong to a key.
function add(key, value,    i) {
	if (value == "failed")
		return
	for (i = good[key]++; i > 0 && values[key, i - 1] > value + 0; i--)
		values[key, i] = values[key, i - 1]
	values[key, i] = value + 0
}

function median(key,    n, half) {
	n = good[key]
	if (!n)
		return 0
	half = int(n / 2)
	return n % 2 ? values[key, half] : (values[key, half - 1] + values[key, half]) / 2
}

function ratio(mine, other) {
	return mine && other ? sprintf("%.2f", mine / other) : "-"
}

# Do these values differ by more than a third of their median? Then that says little.
function is_restless(key) {
	return values[key, good[key] - 1] - values[key, 0] > median(key) / 3
}

# Three significant digits
function figure(value) {
	return sprintf(value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value)
}
