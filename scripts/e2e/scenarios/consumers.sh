# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Consumers in the kernel (kmod/) that are tests themselves: a module that can be loaded has passed.

scenario kernel_queue_gone 40 "a kernel consumer gets no completion of a destroyed queue pair" newer
kernel_queue_gone() {
	insmod "$KMOD/kernel_queue.ko" || fail "$(dmesg | grep kernel_queue: | tail -n 1)"
	rmmod kernel_queue
}
