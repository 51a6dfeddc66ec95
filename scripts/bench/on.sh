#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# on.sh a|b COMMAND...: runs it on this machine (a), or on $HOST by ssh (b). On b it has a
# terminal, so that it ends when we are killed.
set -eu
[ "$1" = b ] || exec "${@:2}"
printf -v command '%q ' "${@:2}"
exec ssh -tt -q -o BatchMode=yes -o ControlMaster=auto -o ControlPersist=60 \
	-o "ControlPath=$STATE/ssh-%C" "$HOST" "$command"
