// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Runs every suite, one TAP line a case: "ok N - suite: case". */
#include <kunit/test.h>
#include <linux/bottom_half.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define FAILURES_SHOWN	5

int shim_softirqs_off;

struct alloc {
	struct alloc *next;
	char data[] __attribute__((aligned(16)));
};

void *kunit_kzalloc(struct kunit *test, size_t size, int gfp)
{
	struct alloc *a = calloc(1, sizeof(*a) + size);

	(void)gfp;
	if (!a)
		return NULL;
	a->next = test->allocs;
	test->allocs = a;
	return a->data;
}

static void free_all(struct kunit *test)
{
	struct alloc *a, *next;

	for (a = test->allocs; a; a = next) {
		next = a->next;
		free(a);
	}
}

void kunit_fail(struct kunit *test, bool leave, const char *file, int line,
		const char *fmt, ...)
{
	va_list args;

	if (test->failures++ < FAILURES_SHOWN) {
		printf("# %s: %s:%d: ", test->name, file, line);
		va_start(args, fmt);
		vprintf(fmt, args);
		va_end(args);
		printf("%s", fmt[0] && fmt[strlen(fmt) - 1] == '\n' ? "" : "\n");
	}
	if (leave)
		longjmp(test->out, 1);
}

static bool run_case(const struct kunit_suite *suite, const struct kunit_case *c)
{
	struct kunit test = { .name = c->name };

	if (!setjmp(test.out)) {
		if (suite->init && suite->init(&test))
			test.failures++;
		else
			c->run_case(&test);
	}
	if (suite->exit)
		suite->exit(&test);
	free_all(&test);
	return !test.failures;
}

static bool wanted(int argc, char **argv, const char *suite)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], suite))
			return true;
	return argc < 2;
}

/* Arguments name the suites to run; without any, all. */
int main(int argc, char **argv)
{
	struct kunit_suite * const *s;
	const struct kunit_case *c;
	unsigned int n = 0, failed = 0;

	printf("TAP version 13\n");
	for (s = kunit_user_suites; *s; s++) {
		if (!wanted(argc, argv, (*s)->name))
			continue;
		for (c = (*s)->test_cases; c->run_case; c++) {
			bool ok = run_case(*s, c);

			failed += !ok;
			printf("%sok %u - %s: %s\n", ok ? "" : "not ", ++n,
			       (*s)->name, c->name);
			fflush(stdout);
		}
	}
	printf("1..%u\n", n);
	return !n || failed;
}
