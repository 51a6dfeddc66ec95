# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# parts.awk -v unit=UNIT -v fpdus=N NM profile.csv: shows the parts of the kernel and of the
# driver in which a message's instructions, or nanoseconds, are. NM is the output of nm -A for the
# driver's objects: a function of the driver belongs to the part of its file. Inlined code counts
# with its caller. N is the number of FPDUs of a message.

# Beginnings of names of the kernel's functions
BEGIN {
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
	if ($2 ~ /^[tT]$/)
		file_of[$3] = file
	next
}

FNR > 1 {
	split($0, field, ",")
	name = field[2]
	value = field[3]
	if (sub(/\[rdma_mpa\]$/, "", name)) {
		sub(/\..*/, "", name)
		part = "  " (name in file_of ? file_of[name] : "other")
		own += value
	} else {
		part = part_of(name)
	}
	sum[part] += value
	if (part !~ /^~/)
		kernel += value
}

function line(name, value) {
	printf "%-36s%12.0f%s\n", name, value, (fpdus > 1 ? sprintf("%12.0f", value / fpdus) : "")
}

# Prints the parts that begin as PATTERN says, the largest first, without those below a hundredth
function lines(pattern,    best, part) {
	for (;;) {
		best = ""
		for (part in sum)
			if (part ~ pattern && (best == "" || sum[part] > sum[best]))
				best = part
		if (best == "" || sum[best] < kernel / 100)
			return
		line(best ~ /^~/ ? substr(best, 2) " (not counted above)" : best, sum[best])
		delete sum[best]
	}
}

END {
	printf "%-36s%12s%s\n", unit, "a message", (fpdus > 1 ? "     an FPDU" : "")
	line("the kernel, both ends", kernel)
	line("the driver", own)
	lines("^  ")
	lines("^[^ ~]")
	lines("^~")
}
