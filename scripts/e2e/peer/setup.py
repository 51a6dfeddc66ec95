# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""RFC 6581 from end to end: RTR types and Read depths, in both roles."""
from peer import (
    ANY, C, M, OFFER_READ, OFFER_SEND, OFFER_WRITE, PEER, READ, REPLY, REQUEST, SEND, TERMINATE,
    WRITE, enhanced, untagged)
from device import (
    Called, Moves, Settings, heard_rtr, opened, say_rtr, serving, test)

NAMES = {SEND: "send", WRITE: "write", READ: "read"}
BITS = {SEND: (OFFER_SEND, 0), WRITE: (0, OFFER_WRITE), READ: (0, OFFER_READ)}
SETS = [tuple(kind for i, kind in enumerate(BITS) if n >> i & 1) for n in range(8)]
NO_RTR = untagged(TERMINATE, 1, bytes([0x20, 7, 0, 0]))


def words(kinds, ird=4, ord_=4):
    """The two words of enhanced data with these types"""
    return (PEER | ird | sum(BITS[kind][0] for kind in kinds),
            ord_ | sum(BITS[kind][1] for kind in kinds))


def having(kinds):
    return Settings(rtr=" ".join(NAMES[kind] for kind in kinds) or "none")


@test
def offers():
    """8 offers by 8 sets of RTR types, device responds, no RTR is seen (P2P-28 to P2P-33)"""
    with serving() as program:
        for have in SETS:
            with having(have):
                have = have or tuple(BITS)              # P2P-29
                for offer in SETS:
                    both = [kind for kind in offer if kind in have]
                    for kind in both or [None]:
                        request = enhanced(REQUEST, C, *words(offer), b"hn")
                        with opened(request) as conn, Moves(rx_no_receive=0):
                            got, want = (conn.reply.ird, conn.reply.ord), words(both or have)
                            assert got == want, "%s to %s: %s" % (have, offer, got)
                            if kind is None:            # P2P-35
                                conn.say(NO_RTR)
                                assert conn.hear() is None
                            else:
                                # there is no receive that it could take
                                say_rtr(conn, kind)
                                assert conn.hear_send(1) == b"hello"
                        program.expect("freed")
        with having((WRITE,)):
            with opened(enhanced(REQUEST, C, *words(BITS), b"h")) as conn:
                conn.say(conn.message())                # no RTR here, but a Send
                assert program.expect("received")[1] == "0"
                assert conn.hear_send(1) == b"hello"


@test
def calls_offers():
    """7 offers by 8 sets of RTR types, device connects: its choice, or code 7 (P2P-32 to P2P-35)"""
    for have in SETS[1:]:
        with having(have):
            for shown in SETS:
                both = [kind for kind in (WRITE, READ, SEND) if kind in have and kind in shown]
                with Called("hn") as call:
                    assert (call.conn.request.ird, call.conn.request.ord) == words(have)
                    conn = call.reply(enhanced(REPLY, C, *words(shown)))
                    if both:
                        call.established()
                        got, first = heard_rtr(conn)
                        assert got == both[0], "%s of %s" % (NAMES[got], both)
                        assert conn.hear_send(first) == b"hello"
                    else:
                        call.refused("CONNECT_ERROR", -71)
                        conn.terminated("2/0/7")


@test
def rtr_types():
    """The Reply's flags choose the RTR, which comes first (P2P-34, P2P-36)"""
    words = {SEND: (OFFER_SEND, 0), WRITE: (0, OFFER_WRITE), READ: (0, OFFER_READ)}
    for shown, want in ((SEND,), SEND), ((WRITE,), WRITE), ((READ,), READ), \
            ((SEND, READ), READ), ((SEND, WRITE), WRITE), ((SEND, WRITE, READ), WRITE):
        ird, ord_ = 4, 4
        for kind in shown:
            ird, ord_ = ird | words[kind][0], ord_ | words[kind][1]
        with Called("he") as call:
            conn = call.reply(enhanced(REPLY, C, PEER | ird, ord_))
            call.established()
            got, first = heard_rtr(conn)
            assert got == want, "RTR %d of %s, expected %d" % (got, shown, want)
            assert conn.hear_send(first) == b"hello"
            conn.say(conn.message(b"back"))
            assert conn.hear_send(first + 1) == b"back"
            conn.finish()
            call.program.expect("DISCONNECTED")
            said = call.program.said
            assert said.count("sent") == 2, "the RTR was shown: %s" % said


@test
def no_rtr():
    """No RTR type in common is a Terminate, code 7 (P2P-35, GAP-15)"""
    for setting, ird, ord_ in ("send write read", PEER | 4, 4), \
            ("send", PEER | 4, OFFER_WRITE | 4), ("write", PEER | OFFER_SEND | 4, 4), \
            ("read", PEER | OFFER_SEND | 4, OFFER_WRITE | 4), \
            ("send write read", PEER, OFFER_READ | 4):
        with Settings(rtr=setting), Moves(startups_failed=1), Called() as call:
            conn = call.reply(enhanced(REPLY, C, ird, ord_))
            call.refused("CONNECT_ERROR", -71)
            conn.terminated("2/0/7")


@test
def client_server():
    """rtr none: A=0 both ways, depths agreed or left to the program"""
    with Settings(rtr="none"):
        for ird, ord_ in (4, 4), (2, 1), (0, 0), (ANY, ANY), (4, 100):
            with Called("eh") as call:
                assert (call.conn.request.ird, call.conn.request.ord) == (4, 4)
                conn = call.reply(enhanced(REPLY, C, ird, ord_, b"pd"))
                line = call.established()
                assert line[4:] == ["2", b"pd".hex()], line
                assert conn.hear_send(1) == b"hello"


def pairs():
    """Depths, each limit and its neighbours"""
    for n in 0, 1, 3, 4, 5, 127, 128, 129, 255, 256, 0x3FFE, ANY:
        for pair in {(n, 4), (4, n), (n, n)}:
            yield pair
    yield 0, ANY
    yield ANY, 0


def told(n):
    """The depth of the peer that a program sees"""
    return str(128 if n == ANY else min(n, 255))


@test
def granted():
    """Read depths, device responds (P2P-08 to P2P-14, P2P-20 to P2P-22, P2P-48, P2P-65)"""
    with serving() as program:
        for letters, own in (b"e", 4), (b"e0", 0):
            for ird, ord_ in pairs():
                with opened(enhanced(REQUEST, C, ird, ord_, letters)) as conn:
                    serve = ANY if ord_ == ANY else min(max(own, ord_), 128)
                    ask = ANY if ird == ANY else min(own, ird)
                    assert (conn.reply.ird, conn.reply.ord) == (serve, ask)
                    line = program.expect("CONNECT_REQUEST")
                    assert line[2:4] == [told(ord_), told(ird)], line
                    want = own if ask == ANY else ask, own if serve == ANY else serve
                    line = program.expect("ESTABLISHED")
                    assert line[2:4] == [str(n) for n in want], line
                    got = program.depths()
                    assert got == want, "%d %d: ORD and IRD %s, expected %s" % (
                        ird, ord_, got, want)
                program.expect("freed")
        with opened(enhanced(REQUEST, C, PEER | 4, OFFER_READ, b"h0")) as conn:
            assert (conn.reply.ird, conn.reply.ord) == (PEER | 1, OFFER_READ)
            assert program.depths() == (0, 1)           # P2P-14
            say_rtr(conn, READ)
            assert conn.hear_send(1) == b"hello"
        # If the ORD is left to the programs IRD stays 0, and no Read can be the RTR.
        with opened(enhanced(REQUEST, C, PEER | OFFER_SEND | 4,
                             OFFER_READ | OFFER_WRITE | ANY, b"h0")) as conn:
            assert (conn.reply.ird, conn.reply.ord) == (PEER | OFFER_SEND | ANY, OFFER_WRITE)
            assert program.depths() == (0, 0)           # P2P-65
            say_rtr(conn, WRITE)
            assert conn.hear_send(1) == b"hello"


@test
def depths():
    """Read depths as initiator; code 6 when we cannot serve as many (P2P-16 to P2P-23, P2P-55)"""
    for letters, own in ("h", 4), ("h0", 0):
        for ird, ord_ in pairs():
            with Called(letters) as call:
                conn = call.reply(enhanced(REPLY, C, PEER | ird, OFFER_WRITE | ord_))
                if 128 < ord_ < ANY:
                    call.refused("CONNECT_ERROR", -71)
                    conn.terminated("2/0/6")
                    continue
                line = call.established()
                assert line[2:4] == [told(ird), told(ord_)], line
                got = call.program.depths()
                want = (own if ird == ANY else min(own, ird),
                        own if ord_ == ANY else max(own, ord_))
                assert got == want, "%d %d: ORD and IRD %s, expected %s" % (ird, ord_, got, want)
                assert heard_rtr(conn) == (WRITE, 1)
                assert conn.hear_send(1) == b"hello"
    with Moves(startups_failed=1, tx_terminate=1), Called() as call:
        conn = call.reply(enhanced(REPLY, C | M, PEER | 4, OFFER_WRITE | 200))
        call.refused("CONNECT_ERROR", -71)
        conn.terminated("2/0/6")
    with Called("h0") as call:
        conn = call.reply(enhanced(REPLY, C, PEER | 1, OFFER_READ))
        call.established()
        assert call.program.depths() == (1, 0)          # P2P-14
        assert heard_rtr(conn) == (READ, 1)
        assert conn.hear_send(1) == b"hello"
