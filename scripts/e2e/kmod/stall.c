// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Stalls a program at the beginning of a function of the driver, until this module is removed: as
 * if it waited for memory there, or its cgroup had used up its time on the processor.
 *
 *	insmod stall.ko tgid=NUMBER at=FUNCTION
 */
#define pr_fmt(fmt) "stall: " fmt

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/wait.h>

static int tgid;
module_param(tgid, int, 0444);
MODULE_PARM_DESC(tgid, "the program");

static char *at;
module_param(at, charp, 0444);
MODULE_PARM_DESC(at, "the function, of at most three arguments, which are integers or pointers");

static int stalled;
module_param(stalled, int, 0444);
MODULE_PARM_DESC(stalled, "1 while a task of the program is stalled");

static int redirect_task(struct kprobe *probe, struct pt_regs *regs);
static void keep_breakpoint(struct kprobe *probe, struct pt_regs *regs, unsigned long flags);

static struct kprobe probe = {
	.pre_handler = redirect_task,
	.post_handler = keep_breakpoint,
};

static DECLARE_WAIT_QUEUE_HEAD(wait);
static bool over;

/* Runs instead of the function, because a handler of a probe may not sleep, and calls it then. */
static unsigned long stall_task(unsigned long a, unsigned long b, unsigned long c)
{
	unsigned long (*function)(unsigned long a, unsigned long b, unsigned long c);
	unsigned long ret;

	wait_event_killable(wait, READ_ONCE(over));
	function = (void *)probe.addr;
	ret = function(a, b, c);
	WRITE_ONCE(stalled, 0);
	wake_up_all(&wait);
	return ret;
}

static int __kprobes redirect_task(struct kprobe *probe, struct pt_regs *regs)
{
	if (current->tgid != tgid || cmpxchg(&stalled, 0, 1))
		return 0;
	instruction_pointer_set(regs, (unsigned long)stall_task);
	return 1;
}

/*
 * A probe with this handler is never turned into a jump (Documentation/trace/kprobes.rst, "Jump
 * Optimization"): behind a jump the kernel ignores that redirect_task() sets the instruction
 * pointer.
 */
static void keep_breakpoint(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

static int __init stall_init(void)
{
	probe.symbol_name = at;
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
MODULE_DESCRIPTION("Stalls a program in the driver");
MODULE_LICENSE("Dual BSD/GPL");
