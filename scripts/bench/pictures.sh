#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# pictures.sh DIR: draws the values in DIR/results.csv and latency.csv with gnuplot:
# for each path, bandwidth-MTU.svg, bandwidth over the size of a message, and
# latency-MTU.svg, the distribution of the latencies.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

[ $# = 1 ] || die "usage: pictures.sh DIR"
OUT=$1
command -v gnuplot > /dev/null || die "no gnuplot (scripts/deps.sh bench installs it)"
points=$(mktemp -d)
trap 'rm -rf "$points"' EXIT

declare -A NAME=([mpa]='rdma\_mpa' [siw]=siw [rxe]='rxe (RoCE)' [tcp]=TCP)
declare -A COLOUR=([mpa]='#0060ad' [siw]='#dd181f' [rxe]='#888888' [tcp]='#00a000')

# select_points FILE MTU WHO CRC TEST: "SIZE MEDIAN" a line, by size
select_points() {
	awk -F , -v mtu="$2" -v who="$3" -v crc="$4" -v test="$5" '
		$3 == mtu && $4 == who && $5 == crc && $6 == test && $7 ~ /^[0-9]+$/ &&
			$9 != "failed" { print $7, $9 }' "$1" | sort -k 1,1n -k 2,2n |
		awk '
			function out() {
				if (n)
					print size, n % 2 ? value[int(n / 2)] : \
						(value[n / 2 - 1] + value[n / 2]) / 2
				n = 0
			}
			$1 != size { out(); size = $1 }
			{ value[n++] = $2 }
			END { out() }'
}

# select_shares FILE MTU WHO CRC TEST: "US PERCENT" a line, all rounds one behind the
# other with an empty line between
select_shares() {
	awk -F , -v mtu="$2" -v who="$3" -v crc="$4" -v test="$5" '
		$3 == mtu && $4 == who && $5 == crc && $6 == test {
			if (round != "" && round != $1 " " $2)
				print ""
			round = $1 " " $2
			print $9, $8
		}' "$1"
}

# curve FILE WHO LABEL: one of plot's curves; nothing without points
curve() {
	[ -s "$1" ] || return 0
	printf "%s'%s' with %s lc rgb '%s' title '%s'" "$comma" "$1" "$style" \
		"${COLOUR[$2]}" "${NAME[$2]}$3"
	comma=', '
}

# bandwidth_panel MTU OP
bandwidth_panel() {
	local who comma='' style='linespoints pt 7 ps 0.5'
	select_points "$OUT/results.csv" "$1" tcp - stream > "$points/tcp"
	for who in mpa siw; do
		select_points "$OUT/results.csv" "$1" $who off "$2" > "$points/$2-$who"
	done
	select_points "$OUT/results.csv" "$1" mpa on "$2" > "$points/$2-on"
	select_points "$OUT/results.csv" "$1" rxe on "$2" > "$points/$2-rxe"
	[ -s "$points/$2-mpa" ] || [ -s "$points/$2-siw" ] || [ -s "$points/$2-rxe" ] ||
		return 0
	echo "set title '$2'"
	printf 'plot '
	curve "$points/tcp" tcp ''
	curve "$points/$2-mpa" mpa ', CRC off'
	style+=' dt 2' curve "$points/$2-on" mpa ', CRC on'
	curve "$points/$2-siw" siw ', CRC off'
	curve "$points/$2-rxe" rxe ''
	echo
}

bandwidth_picture() {
	cat <<-END
		set terminal svg size 1200,480 background 'white'
		set output '$OUT/bandwidth-$1.svg'
		set multiplot layout 1,3 title 'MTU $1'
		set logscale xy
		set xtics (64, 256, '1 Ki' 1024, '4 Ki' 4096, '16 Ki' 16384, '64 Ki' 65536, \
			'256 Ki' 262144, '1 Mi' 1048576)
		set xlabel 'bytes in a message'
		set ylabel 'MB/s'
		set key below
		set grid
	END
	for op in write send read; do
		bandwidth_panel "$1" $op
	done
}

# latency_panel MTU OP
latency_panel() {
	local comma='' style=lines
	select_shares "$OUT/latency.csv" "$1" tcp - latency > "$points/tcp"
	select_shares "$OUT/latency.csv" "$1" mpa off "$2-latency" > "$points/$2-mpa"
	select_shares "$OUT/latency.csv" "$1" siw off "$2-latency" > "$points/$2-siw"
	select_shares "$OUT/latency.csv" "$1" rxe on "$2-latency" > "$points/$2-rxe"
	[ -s "$points/$2-mpa" ] || [ -s "$points/$2-siw" ] || [ -s "$points/$2-rxe" ] ||
		return 0
	echo "set title '$2'"
	printf 'plot '
	curve "$points/tcp" tcp ', half a round trip'
	curve "$points/$2-mpa" mpa ''
	curve "$points/$2-siw" siw ''
	curve "$points/$2-rxe" rxe ''
	echo
}

latency_picture() {
	cat <<-END
		set terminal svg size 1200,480 background 'white'
		set output '$OUT/latency-$1.svg'
		set multiplot layout 1,3 title 'MTU $1: latency'
		set logscale x
		set format x '10^{%T}'
		set xlabel 'us'
		set ylabel 'per cent that took no longer'
		set yrange [0:100]
		set key below
		set grid
	END
	for op in write send read; do
		latency_panel "$1" $op
	done
}

# draw KIND MTU
draw() {
	"$1_picture" "$2" > "$points/script"
	grep -q '^plot ' "$points/script" || return 0
	gnuplot "$points/script" || die "gnuplot failed"
	step "picture: ${OUT#"$TOP"/}/$1-$2.svg"
}

while read -r mtu; do
	draw bandwidth "$mtu"
	draw latency "$mtu"
done < <(awk -F , 'NR > 1 { print $3 }' "$OUT/results.csv" | sort -u)
