# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# size.awk: a function of table.awk and parts.awk

# A number of bytes, as "64 KiB"
function size_name(size) {
	if (size >= 1048576 && size % 1048576 == 0)
		return size / 1048576 " MiB"
	if (size >= 1024 && size % 1024 == 0)
		return size / 1024 " KiB"
	return size
}
