// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * libFuzzer: session control messages of a stranger over SCTP, in both roles, and any events for
 * a session.
 *
 * Input: five bytes (kind of chunk and settings, RTR, depths), then the user data of a Data Chunk,
 * whose bytes are also the events. What must hold: nothing beyond the chunk is read; what parses
 * builds again, to the same bytes; what is answered parses; an end sends what it may, once.
 */
#include <stdlib.h>
#include <string.h>
#include <wire/session.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define CHECK(c) do { if (!(c)) abort(); } while (0)
#define WORDS_MASK	0xbfff3fffu	/* without the flags that A=0 makes void */

static void answer(const struct mpa_frame *req, const struct mpa_offer *own, bool reject)
{
	struct ddp_sctp_chunk c;
	struct mpa_agreed out;
	struct mpa_frame rep;
	u8 buf[DDP_SCTP_MSG_MAX];
	u32 len;
	u8 rtr;

	if (!mpa_request_acceptable(req, own))
		return;
	if (ddp_sctp_must_refuse(req, own)) {
		/* A Read as RTR needs a responder that serves Reads. */
		rtr = own->ird ? own->rtr : own->rtr & ~MPA_RTR_READ;
		CHECK(req->peer && !(req->rtr & rtr));
		len = ddp_sctp_refuse(req, own, buf, sizeof(buf));
		CHECK(len == 8 && !ddp_sctp_parse(&c, DDP_SCTP_PPID_CONTROL, buf, len));
		CHECK(ddp_sctp_refusal(&rep, &c) && rep.rtr && !(rep.rtr & req->rtr));
		return;
	}
	mpa_respond(&rep, &out, req, own, reject, 0);
	len = ddp_sctp_build(&rep, NULL, buf, sizeof(buf));
	CHECK(!ddp_sctp_parse(&c, DDP_SCTP_PPID_CONTROL, buf, len));
	CHECK(c.f.enhanced == req->enhanced && c.f.reject == reject);
	CHECK(req->ird == MPA_DEPTH_ULP || !req->enhanced || out.ord <= req->ird);
}

static void conclude(const struct mpa_frame *rep, const struct mpa_offer *own)
{
	struct mpa_agreed out;
	struct mpa_frame req;
	enum wire_err err;

	mpa_request(&req, own, 0);
	err = mpa_conclude(&out, own, &req, rep);
	CHECK(!err || err == WIRE_MPA_IRD || err == WIRE_MPA_RTR);
	CHECK(!out.crc && !out.tx_markers && !out.rx_markers && !out.rtr_frame);
	CHECK(err || !out.enhanced || rep->ird == MPA_DEPTH_ULP || out.ord <= rep->ird);
}

/* The bytes that were parsed, with @len of them */
static void build_again(const struct ddp_sctp_chunk *c, const u8 *data, u32 len)
{
	u8 buf[DDP_SCTP_MSG_MAX];
	u32 i, words = c->f.enhanced && !c->f.reject ? 4 : 0;

	CHECK(c->body == data + 4 + words && c->len == len - 4 - words);
	if (c->kind == DDP_SCTP_TERMINATE) {
		CHECK(ddp_sctp_terminate(c->ssn, buf, len) == len);
	} else {
		CHECK(!ddp_sctp_build(&c->f, c->body, buf, len - 1));
		CHECK(ddp_sctp_build(&c->f, c->body, buf, len) == len);
	}
	for (i = 0; i < len; i++) {
		bool ignored = words && !c->f.peer && i >= 4 && i < 8;

		CHECK(!((buf[i] ^ data[i]) & (ignored ? WORDS_MASK >> (24 - (i - 4) * 8) : 0xff)));
	}
}

static void chunk(const u8 *data, u32 size, u32 ppid, const struct mpa_offer *own, bool reject)
{
	struct ddp_sctp_chunk c;
	struct mpa_frame shown;
	enum ddp_sctp_fault fault = ddp_sctp_parse(&c, ppid, data, size);

	CHECK(fault < DDP_SCTP_FAULTS);
	if (fault)
		return;
	if (ppid == DDP_SCTP_PPID_SEGMENT) {
		CHECK(c.kind == DDP_SCTP_SEGMENT && c.body == data + 2 && c.len == size - 2);
		return;
	}
	CHECK(c.kind > DDP_SCTP_SEGMENT && c.kind < DDP_SCTP_KINDS && size <= DDP_SCTP_MSG_MAX);
	build_again(&c, data, size);
	ddp_sctp_refusal(&shown, &c);
	if (c.f.kind == MPA_REPLY && !c.f.reject)
		conclude(&c.f, own);
	else if (c.kind == DDP_SCTP_INITIATE || c.kind == DDP_SCTP_ENH_INITIATE)
		answer(&c.f, own, reject);
}

/* Any events at all: each session sends one message and one Terminate, in this order. */
static void events(const u8 *data, u32 size)
{
	const u32 messages = (1 << DDP_DO_TERMINATE) - (1 << DDP_DO_INITIATE) -
			     (1 << DDP_DO_RDMAP_TERM);
	enum ddp_session_state state = DDP_IDLE;
	const struct ddp_session_step *step;
	u32 i, sent = 0, ended = 0;

	for (i = 0; i < size; i++) {
		step = ddp_session_step(state, data[i]);
		CHECK(step || data[i] >= DDP_CHUNKS || state == DDP_GONE);
		if (!step)
			continue;
		CHECK(state != DDP_GONE && step->next > DDP_SESSION_NONE);
		CHECK(step->next < DDP_SESSION_STATES && step->actions < 1 << DDP_SESSION_ACTIONS);
		sent += !!(step->actions & messages);
		ended += state != DDP_IDLE && step->actions & 1 << DDP_DO_TERMINATE;
		CHECK(sent <= 1 && ended <= 1);
		if (step->actions & 1 << DDP_DO_RELEASE || step->next == DDP_IDLE) {
			sent = 0;
			ended = 0;
		}
		state = step->next;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct mpa_offer own;
	u32 ppid;
	u8 *copy;

	if (size < 5)
		return 0;
	own = (struct mpa_offer){
		.rev = data[0] & 8 ? 1 : 2, .rtr = data[1] & MPA_RTR_ALL,
		.ird = data[2], .ord = data[3],
		.ird_max = data[2] > data[4] ? data[2] : data[4],
	};
	ppid = data[0] & 1 ? DDP_SCTP_PPID_SEGMENT : DDP_SCTP_PPID_CONTROL;
	copy = malloc(size - 5);	/* to see a read beyond it */
	CHECK(copy);
	memcpy(copy, data + 5, size - 5);
	chunk(copy, size - 5, data[0] & 2 ? data[0] : ppid, &own, data[0] & 4);
	events(copy, size - 5);
	free(copy);
	return 0;
}
