# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# values.awk, parts.awk -v unit=UNIT NM profile.csv: shows the parts of the kernel and of the driver in which
# the instructions, or nanoseconds, of our device's messages are: a column for each row of
# profile.csv, for a message and for an FPDU. NM is the output of nm -A for the driver's objects: a
# function of the driver belongs to the part of its file. Inlined code counts with its caller.

# Beginnings of names of the kernel's functions
BEGIN {
	PAYLOAD = 1428	# bytes in an FPDU at MTU 1500, about
	copies = "^(__)?(mem(cpy|set|move)|copy_(user|to|from|page)|_copy_|clear_page|rep_movs)"
	tcp = "^_*(tcp|inet_csk|sk_stream|inet6?_(send|recv))"
	net = "^_*(ip6?|inet|fib|dst|ipv4|nf|neigh|eth|veth|dev|netif|netdev|net_rx|napi|gro|" \
		"process_backlog|enqueue_to_backlog|skb|kfree_skb|consume_skb|alloc_skb|build_skb|" \
		"sock|sk|release_sock|lock_sock|qdisc|validate_xmit|csum|do_csum|rt_|e1000|loopback)"
	memory = "^_*(kmem|kmalloc|kfree|slab|alloc_pages|get_page|free_|page_|folio|put_page|" \
		"rmqueue|cmpxchg|memcg|mem_cgroup|refill|obj_)"
	uverbs = "^_*(ib_|uverbs|rdma_|ucma)"
	entry = "^(entry|syscall|do_syscall|ksys|vfs|x64_sys|__x64|fput|fget|fdget|poll|do_poll|" \
		"sys_|exit_to|irqentry|asm_|handle_syscall|userspace|interrupt_end|stub|segv)"
	sched = "sched|wake|queue_work|worker|work|task|rq|switch|timer|tick|rcu|irq|lock|mutex|" \
		"futex|clock|time|cpu|preempt|load_avg|runnable|entity|vruntime|idle|signals|smp|ipi"
}

# part_of NAME: the first pattern that fits
function part_of(name) {
	if (name ~ /^\(/)
		return "~" substr(name, 2, length(name) - 2)
	if (name ~ /^_*crc32/)
		return "CRC"
	if (name ~ copies)
		return "copies of the kernel"
	if (name ~ tcp)
		return "TCP"
	if (name ~ net)
		return "IP, devices, buffers"
	if (name ~ memory)
		return "memory of the kernel"
	if (name ~ uverbs)
		return "system call: uverbs"
	if (name ~ entry)
		return "system call: entry and files"
	return name ~ sched ? "scheduler, locks, interrupts" : "the rest of the kernel"
}

FILENAME == ARGV[ARGC - 2] {
	file = $1
	sub(/:[^:]*$/, "", file)
	sub(/.*\/mpa\//, "", file)
	sub(/\.o$/, ".c", file)
	name = $3
	sub(/\..*/, "", name)	# of a part that the compiler made
	if ($2 ~ /^[tT]$/)
		file_of[name] = file
	next
}

# A line of profile.csv: row, driver, function, value
FNR > 1 {
	split($0, field, ",")
	if (field[2] != "mpa")
		next
	row = field[1]
	if (!seen[row]++)
		rows[++n] = row
	name = field[3]
	value = field[4]
	if (sub(/\[rdma_mpa\]$/, "", name)) {
		sub(/\..*/, "", name)
		part = "  " (name in file_of ? file_of[name] : "other")
		own[row] += value
	} else {
		part = part_of(name)
	}
	sum[part, row] += value
	parts[part]
	if (part !~ /^~/)
		kernel[row] += value
}

function size_of(row,    field) {
	split(row, field, ":")
	return field[2]
}

function fpdus_of(row) {
	return int((size_of(row) + PAYLOAD - 1) / PAYLOAD)
}

# Prints the value of each row, or that over its number of FPDUs
function line(name, value, fpdu,    i) {
	printf "%-30s", name
	for (i = 1; i <= n; i++)
		if (!fpdu)
			printf "%9.0f", value[rows[i]]
		else if (fpdus_of(rows[i]) > 1)
			printf "%9.0f", value[rows[i]] / fpdus_of(rows[i])
	print ""
}

function heading(fpdu,    i, op) {
	printf "%-30s", unit (fpdu ? " an FPDU" : " a message")
	for (i = 1; i <= n; i++) {
		op = rows[i]
		sub(/_.*/, "", op)
		if (!fpdu || fpdus_of(rows[i]) > 1)
			printf "%9s", op
	}
	printf "\n%-30s", ""
	for (i = 1; i <= n; i++)
		if (!fpdu || fpdus_of(rows[i]) > 1)
			printf "%9s", size_name(size_of(rows[i]))
	print ""
}

# The greatest share of the kernel that the part has in any row
function share_of(part,    i, best) {
	for (i = 1; i <= n; i++)
		if (kernel[rows[i]] && sum[part, rows[i]] / kernel[rows[i]] > best)
			best = sum[part, rows[i]] / kernel[rows[i]]
	return best + 0
}

# Prints the parts that begin as PATTERN says, the largest first, without those below a fiftieth
function lines(pattern, fpdu,    best, part, left, i, value) {
	for (part in parts)
		if (part ~ pattern)
			left[part] = share_of(part)
	for (;;) {
		best = ""
		for (part in left)
			if (best == "" || left[part] > left[best])
				best = part
		if (best == "" || left[best] < 0.02)
			return
		for (i = 1; i <= n; i++)
			value[rows[i]] = sum[best, rows[i]]
		line(best ~ /^~/ ? substr(best, 2) " (not counted)" : best, value, fpdu)
		delete left[best]
	}
}

function table(fpdu) {
	heading(fpdu)
	line("the kernel, both ends", kernel, fpdu)
	line("the driver", own, fpdu)
	lines("^  ", fpdu)
	lines("^[^ ~]", fpdu)
	lines("^~", fpdu)
}

END {
	table(0)
	for (i = 1; i <= n; i++)
		if (fpdus_of(rows[i]) > 1)
			large = 1
	if (large) {
		print ""
		table(1)
	}
}
