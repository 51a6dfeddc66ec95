/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * User space: as much of KUnit (Linux 6.1) as the suites use. run.c runs them.
 *
 * EXPECT notes a failure and goes on, ASSERT leaves the case. Only the first few
 * failures of a case are printed.
 */
#ifndef _SHIM_KUNIT_TEST_H
#define _SHIM_KUNIT_TEST_H

#include <linux/gfp.h>
#include <linux/types.h>
#include <setjmp.h>
#include <string.h>

struct kunit;

struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
};

struct kunit_suite {
	const char name[256];
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
};

struct kunit {
	void *priv;
	const char *name;
	unsigned int failures;
	void *allocs;
	jmp_buf out;
};

#define KUNIT_CASE(fn)	{ .run_case = fn, .name = #fn }

/* One array of all suites, which run.c walks. */
#define kunit_test_suites(...) \
	struct kunit_suite * const kunit_user_suites[] = { __VA_ARGS__, NULL }
extern struct kunit_suite * const kunit_user_suites[];

#define MODULE_LICENSE(s)	extern int kunit_user_unused
#define MODULE_DESCRIPTION(s)	extern int kunit_user_unused

void *kunit_kzalloc(struct kunit *test, size_t size, int gfp);
void kunit_fail(struct kunit *test, bool leave, const char *file, int line,
		const char *fmt, ...) __attribute__((__format__(__printf__, 5, 6)));

#define kunit_check_msg(test, leave, ok, fmt, ...) do {				\
	if (!(ok))								\
		kunit_fail(test, leave, __FILE__, __LINE__, fmt, ##__VA_ARGS__);\
} while (0)

#define kunit_check_op(test, leave, l, op, r) do {				\
	__typeof__(l) l_ = (l);							\
	__typeof__(r) r_ = (r);							\
	kunit_check_msg(test, leave, l_ op r_,					\
			#l " " #op " " #r ", but %lld and %lld",		\
			(long long)l_, (long long)r_);				\
} while (0)

#define kunit_check_op_msg(test, leave, l, op, r, fmt, ...) \
	kunit_check_msg(test, leave, (l) op (r), #l " " #op " " #r ": " fmt, ##__VA_ARGS__)

#define KUNIT_FAIL(t, fmt, ...)		kunit_check_msg(t, false, false, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_TRUE(t, c)		kunit_check_msg(t, false, c, "%s", #c)
#define KUNIT_EXPECT_FALSE(t, c)	kunit_check_msg(t, false, !(c), "!(%s)", #c)
#define KUNIT_EXPECT_TRUE_MSG(t, c, fmt, ...) \
	kunit_check_msg(t, false, c, #c ": " fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_EQ(t, l, r)	kunit_check_op(t, false, l, ==, r)
#define KUNIT_EXPECT_NE(t, l, r)	kunit_check_op(t, false, l, !=, r)
#define KUNIT_EXPECT_LE(t, l, r)	kunit_check_op(t, false, l, <=, r)
#define KUNIT_EXPECT_GE(t, l, r)	kunit_check_op(t, false, l, >=, r)
#define KUNIT_EXPECT_EQ_MSG(t, l, r, fmt, ...) \
	kunit_check_op_msg(t, false, l, ==, r, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_PTR_EQ(t, l, r) \
	kunit_check_msg(t, false, (l) == (r), "%s == %s", #l, #r)
#define KUNIT_EXPECT_STREQ(t, l, r) \
	kunit_check_msg(t, false, !strcmp(l, r), "\"%s\" and \"%s\"", l, r)
#define KUNIT_ASSERT_TRUE(t, c)		kunit_check_msg(t, true, c, "%s", #c)
#define KUNIT_ASSERT_TRUE_MSG(t, c, fmt, ...) \
	kunit_check_msg(t, true, c, #c ": " fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_STREQ(t, l, r) \
	kunit_check_msg(t, true, !strcmp(l, r), "\"%s\" and \"%s\"", l, r)
#define KUNIT_ASSERT_EQ(t, l, r)	kunit_check_op(t, true, l, ==, r)
#define KUNIT_ASSERT_EQ_MSG(t, l, r, fmt, ...) \
	kunit_check_op_msg(t, true, l, ==, r, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_NOT_NULL(t, p)	kunit_check_msg(t, true, (p) != NULL, "%s", #p)

#endif
