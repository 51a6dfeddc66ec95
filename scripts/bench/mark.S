/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A program that does nothing, at an address by which profile.c knows it. */
	.globl	_start
_start:
	xor	%edi, %edi
	mov	$60, %eax	/* exit */
	syscall
	.section .note.GNU-stack, "", @progbits
