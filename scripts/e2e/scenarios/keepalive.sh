# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# An idle peer whose host vanishes: TCP's keepalive, and the setting keepalive_s.

scenario keepalive_idle 60 "an idle peer's host vanishes: the program learns of it (CONN-19)" \
	slow wire
keepalive_idle() {
	dirty
	modprobe sch_netem
	peer alive idle
}

scenario keepalive_on 60 "TCP's keepalive is on for connections of both roles" wire
keepalive_on() { peer alive on; }
