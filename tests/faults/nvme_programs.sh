#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# nvme_programs.sh: whole programs on NVMe disks with fast paths: Debian's fio, which verifies what it wrote, and a log of
# records, killed at random instants. The node has an NVMe disk.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nvme_lib.sh"

job() { # WHERE WORDS: fio writes blocks in random order and verifies them; WHERE is empty or "hosted"
	local before=()
	[ "$1" = hosted ] && before=("$T" run $follow --profile-to profile.json --)
	"${before[@]}" fio --name=job --ioengine=psync --direct=1 --rw=randwrite --verify=crc32c --verify_fatal=1 \
		--verify_state_save=0 --filename=$part --output-format=json --output=job.json "${@:2}" >job.said 2>&1
}

right() { # WHERE WORDS: without an error
	job "$@" || fail "fio $*: $? after $(grep -h verify: job.said job.json | head -4 | tr '\n' ';')"
}

wrong() { # WHERE WORDS: fio finds that something else is there
	job "$@" && fail "fio $* finds no error"
	grep -qhE '^verify:|verify failed' job.said job.json || fail "fio $* fails otherwise: $(head -4 job.said | tr '\n' ';')"
}

ios() { # WAYS: of the last job
	awk -v ways="$1" '/"(read|write|trim|sync)" : {/ { way = $1 } /"total_ios"/ && way ~ ways { sum += $3 } END { print sum + 0 }' job.json
}

forwarded() { # such calls of the last job, as its profile says; two are those of the program's start
	tr -d '\n' <profile.json | grep -oE '"on": "forwarded-call", *"name": "(pread64|pwrite64|fsync)", *"count": [0-9]*' |
		awk '{ sum += $NF } END { print sum - 2 }'
}

# Cores served all calls of the job but those that the profile calls forwarded: of each descriptor the first ones, until it
# has its grant, and those of a thread that shares its core with another one, as fio's have more than there are cores.
served() { # PERCENT BEFORE WAYS: at least so many
	local all served
	all=$(ios "$3") served=$(($(calls) - $2))
	note "fio's $all calls: $served by cores"
	[ $((served + $(forwarded))) = "$all" ] || fail "of $all calls cores served $served and Linux $(forwarded): $(cat /sys/kernel/tacet/pico)"
	[ $((served * 100)) -ge $((all * $1)) ] || fail "of $all calls cores served $served only: $(cat /sys/kernel/tacet/pico)"
}

empty() { # the partition, so that what was not written is not there
	dd if=/dev/zero of=${disk}p1 bs=1M count=8 oflag=direct status=none || fail "empty"
}

both_ways() { # PERCENT WORDS: written by cores and verified on Linux, and the other way round
	local percent=$1 before
	shift
	empty
	before=$(calls)
	right hosted "$@"
	served $percent $before 'read|write|sync'
	right "" --verify_only "$@"
	empty
	right "" "$@"
	before=$(calls)
	right hosted --verify_only "$@"
	served $percent $before read # fio counts the writes that it leaves out
	dd if=/dev/zero of=${disk}p1 bs=512 seek=1000 count=1 oflag=direct status=none
	wrong hosted --verify_only "$@"
}

beside() { # Linux verifies what it writes to the other partition, again and again, until SIGTERM and the end of its fio
	local over=
	trap over=1 TERM
	cd "$(mktemp -d)" || exit
	part=${disk}p2
	while job "" --bs=4k --size=2m; do [ -z "$over" ] || return 0; done
	fail "beside it: $(head -4 job.said | tr '\n' ';')"
}

fio_verifies() {
	local other
	partition
	part=${disk}p1
	up
	beside & other=$!
	both_ways 90 --thread --bs=4k --size=2m
	[ "$FULL" = 1 ] && each_sort
	gone $other && fail "Linux's own job has ended"
	kill $other
	wait $other || fail "Linux's own job: $?"
	down
	without_partitions
	said "GUP no longer" 1 && fail "Linux complains of a stack that a core wanted to grow"
	return 0
}

each_sort() { # of blocks, and of jobs: threads or processes
	local bytes jobs=(--numjobs=2 --offset_increment=4m --size=4m --bsrange=512-64k --fsync=16)
	for bytes in 512 64k 1m; do
		both_ways 75 --thread --bs=$bytes --size=$([ $bytes = 512 ] && echo 1m || echo 8m)
	done
	both_ways 20 --thread "${jobs[@]}"
	follow=--follow both_ways 20 "${jobs[@]}"
}

fio_virtual() {
	prepare
	fio_verifies
}

streams=2
seed=${SEED:-$RANDOM}

appends() { # WORDS: the log's writer, until it is killed at some instant
	local before
	before=$(wc -l <acknowledged)
	"$@" $F/store append $disk $streams >>acknowledged & local writer=$!
	until_true "records are written" longer "$before"
	sleep 0.$(printf %03d $((RANDOM % 256)))
	kill -9 $writer
	ended $writer 137
}

longer() { # LINES
	[ "$(wc -l <acknowledged)" -gt "$1" ]
}

recovered() { # no acknowledged record is lost, no torn one believed: on Linux and by cores
	$F/store check $disk $streams acknowledged >found || fail "on Linux, round $round ($seed): $(cat found)"
	$T run -- $F/store check $disk $streams acknowledged >found_hosted || fail "hosted, round $round ($seed): $(cat found_hosted)"
	cmp -s found found_hosted || fail "round $round: $(cat found) on Linux, $(cat found_hosted) by cores"
}

damaged() { # the check finds what is lost
	dd if=/dev/zero of=$disk bs=1M count=4 oflag=direct status=none
	refused "was acknowledged" $F/store check $disk $streams acknowledged
	refused "was acknowledged" $T run -- $F/store check $disk $streams acknowledged
}

store() {
	local round torn=0
	note "seed $seed"
	RANDOM=$seed
	dd if=/dev/zero of=$disk bs=1M oflag=direct status=none
	: >acknowledged
	up
	for round in $(seq $(often 3 200)); do
		# each third one writes on Linux
		if [ $((round % 3)) = 0 ]; then appends; else appends $T run --; fi
		recovered
		# half a record, which a later writer overwrites
		[ $((round % 3)) = 2 ] || continue
		$F/store tear $disk $streams || fail "tear, round $round"
		recovered
		grep -q "torn $streams" found || fail "round $round: torn records are not seen: $(cat found)"
	done
	[ "$(calls)" -gt $((round * 20)) ] || fail "cores served $(calls) calls only: $(cat /sys/kernel/tacet/pico)"
	note "$round kills, $(wc -l <acknowledged) records acknowledged, cores served $(calls) calls"
	damaged
	down
	no_complaint
}

scenario "$@"
