# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The stream after the startup, with the scripted peer (peer in peer.sh).

scenario crc_stays 60 "the agreement on CRCs holds to the end of a connection (CRC-07)" \
	-- peer stream crc_stays

scenario odd_frames 60 \
	"Markers count from the end of a frame of any length (MRK-09, MRK-10, NEG-37)" \
	-- peer stream odd_frames
