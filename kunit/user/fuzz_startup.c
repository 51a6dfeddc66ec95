// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * libFuzzer: startup frames of a stranger, in both roles, and any events for the
 * machine.
 *
 * Input: five bytes (kind and settings, RTR, depths), then the frame. Rules:
 * nothing beyond the frame is read, a frame refused at a prefix stays
 * refused, a frame that parses can be built again, and depths fit after a Reply of ours.
 */
#include <stdlib.h>
#include <string.h>
#include <wire/machine.h>
#include <wire/startup.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define CHECK(c) do { if (!(c)) abort(); } while (0)

static void answer(const struct mpa_frame *req, const struct mpa_offer *own)
{
	struct mpa_frame rep;
	struct mpa_agreed out;
	u8 buf[MPA_FRAME_MAX];

	if (!mpa_request_acceptable(req, own))
		return;
	mpa_respond(&rep, &out, req, own, false, 0);
	CHECK(mpa_frame_build(&rep, NULL, buf) == (rep.enhanced ? 24 : 20));
	CHECK(!out.rtr_frame || (own->rtr_frame && rep.rev == 1 && !rep.enhanced));
	if (!rep.enhanced)
		return;
	CHECK(req->ird == MPA_DEPTH_ULP || out.ord <= req->ird);
	CHECK(out.ird <= own->ird_max || out.ird == own->ird);
}

static void conclude(const struct mpa_frame *rep, const struct mpa_offer *own)
{
	struct mpa_frame req;
	struct mpa_agreed out;
	enum wire_err err;

	mpa_request(&req, own, 0);
	err = mpa_conclude(&out, own, &req, rep);
	CHECK(!err || err == WIRE_MPA_IRD || err == WIRE_MPA_RTR);
	CHECK(!out.rtr_frame || (own->rtr_frame && !out.enhanced && !out.rtr));
	if (err || !out.enhanced)
		return;
	CHECK(rep->ird == MPA_DEPTH_ULP || out.ord <= rep->ird);
	CHECK(rep->ord == MPA_DEPTH_ULP || out.ird >= rep->ord);
	CHECK(!req.peer || (out.rtr & req.rtr & rep->rtr));
	CHECK(!(out.rtr & (out.rtr - 1)));
}

static void frame(const u8 *data, u32 size, enum mpa_kind kind, const struct mpa_offer *own)
{
	struct mpa_frame f;
	u8 buf[MPA_FRAME_MAX];
	enum wire_err err = WIRE_OK, before = WIRE_OK;
	const u8 *pd;
	u32 have, need = 20;

	for (have = 0; have <= size && have <= MPA_FRAME_MAX; have++) {
		need = mpa_frame_need(data, have, kind, &err);
		CHECK(!before || err);
		CHECK(need >= 20 && need <= MPA_FRAME_MAX);
		before = err;
		if (have >= need)
			break;
	}
	if (err || size < need)
		return;
	CHECK(!mpa_frame_parse(&f, data, kind, &pd));
	CHECK(pd + f.pd_len == data + need);
	CHECK(mpa_frame_build(&f, pd, buf) == need);
	CHECK(!memcmp(buf, data, 16) && !memcmp(buf + need - f.pd_len, pd, f.pd_len));
	if (kind == MPA_REPLY)
		conclude(&f, own);
	else if (kind == MPA_REQUEST)
		answer(&f, own);
}

/* Any events at all: the machine stays in its states, and an end is an end. */
static void events(const u8 *data, u32 size, bool initiator)
{
	enum mpa_state state = initiator ? MPA_CONNECTING : MPA_WAIT_REQUEST;
	const struct mpa_step *step;
	u32 i;

	for (i = 0; i < size; i++) {
		step = mpa_step(state, data[i]);
		CHECK(!step || state != MPA_DONE);
		if (!step)
			continue;
		CHECK(step->next < MPA_STATES && step->actions < 1 << MPA_ACTIONS);
		state = step->next;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct mpa_offer own;
	u8 *copy;

	if (size < 5)
		return 0;
	own = (struct mpa_offer){
		.markers = data[0] & 2, .crc = data[0] & 4,
		.rev = data[0] & 8 ? 1 : 2, .rtr_frame = data[0] & 0x20,
		.rtr = data[1] & MPA_RTR_ALL, .ird = data[2], .ord = data[3],
		.ird_max = data[2] > data[4] ? data[2] : data[4],
	};
	copy = malloc(size);	/* to see a read beyond it */
	CHECK(copy);
	memcpy(copy, data + 5, size - 5);
	frame(copy, size - 5, data[0] & 0x10 ? MPA_RTR : data[0] & 1, &own);
	events(copy, size - 5, data[0] & 1);
	free(copy);
	return 0;
}
