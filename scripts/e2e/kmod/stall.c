// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Stalls a program where it takes the depths of a connection that it makes or accepts, until the
 * module is removed. It then has the endpoint locked, as a program would that waits for memory or
 * for its cgroup's time on the processor.
 *
 *	insmod stall.ko tgid=NUMBER
 */
#define pr_fmt(fmt) "stall: " fmt

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/wait.h>

static int tgid;
module_param(tgid, int, 0444);
MODULE_PARM_DESC(tgid, "the program");

static int stalled;
module_param(stalled, int, 0444);
MODULE_PARM_DESC(stalled, "how many of its tasks are stalled");

static DECLARE_WAIT_QUEUE_HEAD(wait);
static bool over;

/* Runs instead of the probed function, which returns nothing. The depths are 0 then. */
static void stall_task(void)
{
	WRITE_ONCE(stalled, 1);
	wait_event_killable(wait, READ_ONCE(over));
	WRITE_ONCE(stalled, 0);
	wake_up_all(&wait);
}

static int __kprobes redirect_task(struct kprobe *probe, struct pt_regs *regs)
{
	if (current->tgid != tgid || READ_ONCE(stalled))
		return 0;
	instruction_pointer_set(regs, (unsigned long)stall_task);
	return 1;
}

static struct kprobe probe = {
	.symbol_name = "rnic_ep_set_depths",
	.pre_handler = redirect_task,
};

static int __init stall_init(void)
{
	return register_kprobe(&probe);
}

static void __exit stall_exit(void)
{
	unregister_kprobe(&probe);
	WRITE_ONCE(over, true);
	wake_up_all(&wait);
	wait_event(wait, !READ_ONCE(stalled));
	/* The task still returns through our code. */
	synchronize_rcu_tasks();
	synchronize_rcu();
}

module_init(stall_init);
module_exit(stall_exit);
MODULE_DESCRIPTION("Stalls a program that has an endpoint locked");
MODULE_LICENSE("Dual BSD/GPL");
