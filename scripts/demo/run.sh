#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# run.sh: two hosts in a small virtual machine, RDMA programs between them.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

"$TOP/scripts/deps.sh" demo
module=$("$TOP/scripts/module.sh")
step "starting a virtual machine: Linux $(guest_release), this machine's files read-only"
exec "$TOP/scripts/vm/run.sh" -c 2 -m 2G -t 300 -- \
	scripts/demo/guest.sh "${RDMA_TYPE:-mpa}" "$module"
