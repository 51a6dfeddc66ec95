// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/err.c: one row an error, as RFC 5040, 5041, 5044 and 6581 number them, with its class. */
#include <kunit/test.h>
#include <linux/string.h>
#include <wire/err.h>
#include "suites.h"

static const struct {
	enum wire_err err;
	u32 word;		/* layer, type, code as the Terminate has them */
	enum wire_class class;
} numbers[] = {
	{ WIRE_MPA_CLOSED, 0x2001, WIRE_CLASS_BROKEN },
	{ WIRE_MPA_CRC, 0x2002, WIRE_CLASS_CRC },
	{ WIRE_MPA_MARKER, 0x2003, WIRE_CLASS_FRAMING },
	{ WIRE_MPA_FRAME, 0x2004, WIRE_CLASS_BROKEN },
	{ WIRE_MPA_LOCAL, 0x2005, WIRE_CLASS_BROKEN },
	{ WIRE_MPA_IRD, 0x2006, WIRE_CLASS_BROKEN },
	{ WIRE_MPA_RTR, 0x2007, WIRE_CLASS_BROKEN },
	{ WIRE_DDP_LOCAL, 0x1000, WIRE_CLASS_BROKEN },
	{ WIRE_DDP_T_STAG, 0x1100, WIRE_CLASS_ACCESS },
	{ WIRE_DDP_T_BOUNDS, 0x1101, WIRE_CLASS_ACCESS },
	{ WIRE_DDP_T_ASSOC, 0x1102, WIRE_CLASS_ACCESS },
	{ WIRE_DDP_T_WRAP, 0x1103, WIRE_CLASS_ACCESS },
	{ WIRE_DDP_T_VERSION, 0x1104, WIRE_CLASS_REQUEST },
	{ WIRE_DDP_U_QN, 0x1201, WIRE_CLASS_REQUEST },
	{ WIRE_DDP_U_NOBUF, 0x1202, WIRE_CLASS_REQUEST },
	{ WIRE_DDP_U_MSN, 0x1203, WIRE_CLASS_REQUEST },
	{ WIRE_DDP_U_MO, 0x1204, WIRE_CLASS_REQUEST },
	{ WIRE_DDP_U_TOOLONG, 0x1205, WIRE_CLASS_REQUEST },
	{ WIRE_DDP_U_VERSION, 0x1206, WIRE_CLASS_REQUEST },
	{ WIRE_RDMAP_LOCAL, 0x0000, WIRE_CLASS_BROKEN },
	{ WIRE_RDMAP_STAG, 0x0100, WIRE_CLASS_ACCESS },
	{ WIRE_RDMAP_BOUNDS, 0x0101, WIRE_CLASS_ACCESS },
	{ WIRE_RDMAP_ACCESS, 0x0102, WIRE_CLASS_ACCESS },
	{ WIRE_RDMAP_ASSOC, 0x0103, WIRE_CLASS_ACCESS },
	{ WIRE_RDMAP_WRAP, 0x0104, WIRE_CLASS_ACCESS },
	{ WIRE_RDMAP_NOINVAL, 0x0109, WIRE_CLASS_ACCESS },
	{ WIRE_RDMAP_VERSION, 0x0205, WIRE_CLASS_REQUEST },
	{ WIRE_RDMAP_OPCODE, 0x0206, WIRE_CLASS_REQUEST },
	{ WIRE_RDMAP_CATASTROPHIC, 0x0207, WIRE_CLASS_REQUEST },
	{ WIRE_RDMAP_UNSPECIFIED, 0x02ff, WIRE_CLASS_REQUEST },
};

/* ERR-15, ERR-16, P2P-42; RFC 5040 section 4.8, RFC 5041 section 7.2, RFC 6580 section 3 */
static void numbers_as_registered(struct kunit *test)
{
	u32 i;

	KUNIT_EXPECT_EQ(test, (int)ARRAY_SIZE(numbers), WIRE_ERR_MAX - 1);
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		const struct wire_err_row *row = wire_err_row(numbers[i].err);

		KUNIT_EXPECT_EQ_MSG(test, numbers[i].word,
				    (u32)(row->layer << 12 | row->etype << 8 | row->code),
				    "%s", row->name);
		KUNIT_EXPECT_EQ_MSG(test, numbers[i].class, row->class, "%s", row->name);
	}
}

/* The driver counts and reports by class, so each error has one, and each class has errors. */
static void every_error_has_a_class(struct kunit *test)
{
	u32 seen[WIRE_CLASSES] = { 1 };
	u32 i;

	KUNIT_EXPECT_EQ(test, (int)wire_err_row(WIRE_OK)->class, WIRE_CLASS_NONE);
	for (i = WIRE_OK + 1; i < WIRE_ERR_MAX; i++) {
		KUNIT_EXPECT_NE(test, (int)wire_err_row(i)->class, WIRE_CLASS_NONE);
		KUNIT_ASSERT_TRUE(test, wire_err_row(i)->class < WIRE_CLASSES);
		seen[wire_err_row(i)->class]++;
	}
	for (i = 0; i < WIRE_CLASSES; i++)
		KUNIT_EXPECT_NE(test, seen[i], 0U);
}

/* Traces print an error's name, so each error has one, and no two have the same. */
static void names_are_distinct(struct kunit *test)
{
	int a, b;

	for (a = 0; a < WIRE_ERR_MAX; a++) {
		KUNIT_ASSERT_NOT_NULL(test, wire_err_row(a)->name);
		for (b = 0; b < a; b++)
			KUNIT_EXPECT_TRUE(test, strcmp(wire_err_row(a)->name,
						       wire_err_row(b)->name));
	}
}

static void out_of_range_is_unspecified(struct kunit *test)
{
	const struct wire_err_row *unspecified = wire_err_row(WIRE_RDMAP_UNSPECIFIED);

	KUNIT_EXPECT_PTR_EQ(test, wire_err_row(WIRE_ERR_MAX), unspecified);
	KUNIT_EXPECT_PTR_EQ(test, wire_err_row(-1), unspecified);
}

static void numbers_give_the_error(struct kunit *test)
{
	u32 i;

	for (i = WIRE_OK + 1; i < WIRE_ERR_MAX; i++) {
		const struct wire_err_row *row = wire_err_row(i);

		KUNIT_EXPECT_EQ(test, (u32)wire_err_find(row->layer, row->etype, row->code), i);
		KUNIT_EXPECT_STREQ(test, wire_err_name(row->layer, row->etype, row->code),
				   row->name);
	}
	KUNIT_EXPECT_EQ(test, (int)wire_err_find(TERM_LAYER_RDMAP, TERM_RDMAP_CATASTROPHIC, 0x55),
			WIRE_RDMAP_LOCAL);
	KUNIT_EXPECT_EQ(test, (int)wire_err_find(TERM_LAYER_RDMAP, TERM_RDMAP_OPERATION, 0x09),
			WIRE_OK);
	KUNIT_EXPECT_EQ(test, (int)wire_err_find(TERM_LAYER_LLP, TERM_LLP_MPA, 0), WIRE_OK);
	KUNIT_EXPECT_STREQ(test, wire_err_name(TERM_LAYER_LLP, TERM_LLP_MPA, 0), "unknown");
	KUNIT_EXPECT_STREQ(test, wire_err_name(0xf, 0xf, 0xff), "unknown");
}

static struct kunit_case cases[] = {
	KUNIT_CASE(numbers_as_registered),
	KUNIT_CASE(every_error_has_a_class),
	KUNIT_CASE(names_are_distinct),
	KUNIT_CASE(numbers_give_the_error),
	KUNIT_CASE(out_of_range_is_unspecified),
	{}
};

struct kunit_suite wire_err_suite = { .name = "wire_err", .test_cases = cases };
