# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Consumers in the kernel that are tests themselves (kmod/): one that can be loaded is content.

scenario kernel_queue_gone 40 "no completion of a kernel's queue pair that is gone" newer
kernel_queue_gone() {
	insmod "$KMOD/kernel_queue.ko" || fail "$(dmesg | grep kernel_queue: | tail -n 1)"
	rmmod kernel_queue
}
