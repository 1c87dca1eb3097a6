# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# jobs.sh: jobs, which divide a partition among users. Called by the runner with the name of a function.

. "$F/lib.sh"

# Jobs begin and end; each user sees and uses his own.
objects() {
	local quick stubborn
	up --cpus 1 --spare 2-3 --mix-users
	opened
	[ "$(as 1000 $T run -- nproc)" = 1 ] || fail "without jobs a user does not use the partition"
	begins 7 --user 1000 --cpus 1 --memory 4M
	begins 7 --user 1000 --cpus 1 --memory 4M
	refused "other arguments: user" $T job begin 7 --user 1001 --cpus 1 --memory 4M
	refused "other arguments: CPUs" $T job begin 7 --user 1000 --cpus 1-2 --memory 4M
	refused "other arguments: memory" $T job begin 7 --user 1000 --cpus 1
	refused "job 7 has it" $T job begin 8 --user 1001 --cpus 1-2
	refused "not the partition's" $T job begin 8 --user 1001 --cpus 0
	refused "of which other jobs have" $T job begin 8 --user 1001 --cpus 2 --memory 1G
	[ "$(ids)" = 7 ] || fail "jobs: $(ids)"
	[ "$(partition_cpus)" = "1 " ] || fail "refused jobs have left CPUs: $(partition_cpus)"
	$T job begin 8 --user 1001 --cpus 2-3 --dry-run >/dev/null 2>.said || fail "dry run: $(cat .said)"
	[ "$(ids)" = 7 ] || fail "a dry run has begun a job"
	refused "none of which is this user's" as 1001 $T run -- true
	refused "all its CPUs are those of jobs" $T run -- true
	begins 8 --user 1001 --cpus 2-3
	mine
	until_true "nothing is hosted" hosted 0
	refused "job 7 has not ended" $T down
	become 1000 $T run -- $F/victim calls quick.rounds &
	quick=$!
	until_true "a program begins" counted quick.rounds
	become 1001 $T run -- sh -c 'trap "" TERM; : >stubborn; while :; do :; done' &
	stubborn=$!
	until_true "the other one begins" test -e stubborn
	refused "job 7 has it" $T shrink --cpus 1
	$T job end 7 --dry-run | grep -q "would end" || fail "no dry run of an end"
	alive quick.rounds
	ends 7 | grep -q killed && fail "a program that SIGTERM ends was killed"
	ended $quick 143
	refused "none of which is this user's" as 1000 $T run -- true
	ends 8 --grace 1 --return | grep -q "killed; CPUs 2-3 go to Linux" || fail "end: $(cat .job-said)"
	ended $stubborn 137
	ends 8 | grep -q "there is no job 8" || fail "end of an ended job: $(cat .job-said)"
	[ "$(cat $cpus/online)" = 0,2-3 ] || fail "online: $(cat $cpus/online)"
	[ "$(as 1001 $T run -- nproc)" = 1 ] || fail "after the last job a user does not use the partition"
	until_true "nothing is hosted" hosted 0
	until_true "memory is given back" given_back
	down
}

# What users see of jobs 7 (user 1000, CPU 1) and 8 (user 1001, CPUs 2 and 3).
mine() {
	[ "$(as 1000 $T run -- nproc)" = 1 ] || fail "job 7 has other CPUs"
	[ "$(as 1001 $T run -- nproc)" = 2 ] || fail "job 8 has other CPUs"
	[ "$(as 1001 $T job list --json | python3 -c 'import json, sys; print(*[job["id"] for job in json.load(sys.stdin)["jobs"]])')" = 8 ] ||
		fail "a user sees: $(as 1001 $T job list)"
	[ "$(as 1001 $T status --json | grep -o '"cpu": [0-9]*' | xargs)" = "cpu: 2 cpu: 3" ] || fail "a user sees CPUs of others"
	refused "another user's" as 1001 env TACET_JOB=7 $T run -- true
	refused "not in the partition" as 1001 $T run --cpus 1 -- true
	refused "" as 1001 $T job end 7
	refused "" as 1001 $T job begin 9 --user 1001 --cpus 2
	[ "$(as 1001 env MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2 $T run -- python3 -c 'import os; print(*os.sched_getaffinity(0))')" = 3 ] ||
		fail "ranks do not divide their job's CPUs"
	[ "$(as 1001 $T run -- python3 -c 'import os
try: os.sched_setaffinity(0, {1})
except OSError: pass
print(*os.sched_getaffinity(0))')" = "2 3" ] || fail "a program went to another job's CPU"
}

# What one job does disturbs no other: neither one that computes nor one whose core is idle.
quiet() {
	local before round
	up --cpus 1 --spare 2-3
	begins a --user 0 --cpus 1
	disturbances_of b
	TACET_JOB=a $T run -- $F/victim compute &
	until_true "it computes" computes
	disturbances_of b
	TACET_JOB=a $T job end a >/dev/null || fail "job a does not end"
	until_true "nothing is hosted" hosted 0
	down
}

disturbances_of() { # JOB: begins, runs programs and ends, for several times
	local before round
	for round in $(seq "$(often 3 20)"); do
		before=$(met 1)
		begins $1 --user 0 --cpus 2-3
		TACET_JOB=$1 $T run --follow -- $F/victim faults one.rounds &
		TACET_JOB=$1 $T run --follow -- $F/victim threads two.rounds &
		until_true "they begin" counted one.rounds
		until_true "both begin" counted two.rounds
		TACET_JOB=$1 $T run -- sh -c 'head -c 3000000 /dev/zero | sort | cat' >/dev/null
		alive one.rounds
		ends $1 --return >/dev/null
		rm one.rounds two.rounds
		[ "$(met 1)" = "$before" ] || fail "round $round: CPU 1 met $(met 1), before $before"
	done
}

met() { # CPU: doorbells and interrupts
	field "next((core['doorbells_sent'], core['foreign']) for core in s['cores'] if core['cpu'] == $1)"
}

# Two users' jobs run at once where a program can read what its core maps: no core of one maps what the other has, in
# memory or in registers. The control is a core that maps all.
beside() {
	local first second
	up --cpus 1-3 --memory 256M
	opened
	begins a --user 1000 --cpus 2 --memory 48M
	begins b --user 1001 --cpus 3 --memory 48M
	$T log | grep "job [ab]:"
	become 1000 $T run -- $F/victim marks a.rounds &
	first=$!
	until_true "the first begins" counted a.rounds
	become 1001 $T run -- $F/victim compute b.rounds &
	second=$!
	until_true "the second begins, beside it" counted b.rounds
	[ "$(mapped 2)" -ge 524288 ] || fail "the first's core maps the mark $(mapped 2) times: this test shows nothing"
	[ "$(mapped 1)" -ge 524288 ] || fail "a core that maps all maps the mark $(mapped 1) times: this test shows nothing"
	[ "$(mapped 3)" = 0 ] || fail "the second user could find the mark $(mapped 3) times"
	alive a.rounds
	alive b.rounds
	refused "another user's programs are there" env TACET_JOB= $T run --cpus 1 -- true
	ends a >/dev/null
	[ "$(mapped 1)" = 0 ] || fail "the mark is left: a core that maps all maps it $(mapped 1) times"
	alive b.rounds
	begins c --user 1000 --cpus 2 --memory 48M
	[ "$(as 1000 $T run -- id -u)" = 1000 ] || fail "the first user's next job does not run"
	ends c >/dev/null
	ends b >/dev/null
	until_true "memory is given back" given_back
	down
}

mapped() { # CPU: how often what it maps has the mark
	[ "$($F/door test $1 12)" = ok ] || fail "the mark is not looked for"
	$T log | sed -n "s/.*cpu $1 maps the mark \([0-9]*\) times.*/\1/p" | tail -1
}

# A job's limit ends neither the partition nor another job: who asks for more than is left gets ENOMEM, and who touches
# more is killed.
memory() {
	up --cpus 1-3 --memory 128M
	begins a --user 0 --cpus 1 --memory 24M
	begins b --user 0 --cpus 2-3
	cat >ask.py <<-'EOF'
	import ctypes, errno, mmap, sys
	size = int(sys.argv[1]) << 20
	try:
	    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
	except OSError as error:
	    print(errno.errorcode[error.errno])
	    sys.exit()
	if len(sys.argv) > 2:
	    for at in range(0, size, 4096):
	        memory[at] = 1
	print("ok")
	EOF
	asks a ok 4 touch
	asks a ENOMEM 32
	asks b ok 32 touch
	within_job a python3 -c 'import mmap
several = [mmap.mmap(-1, 4 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _ in range(8)]
for memory in several:
    for at in range(0, 4 << 20, 4096):
        memory[at] = 1' && fail "a program has more than its job's limit"
	$T log 2>/dev/null | grep -q "beyond the limit of its job" || fail "the log does not say why it ended"
	asks a ok 12 touch
	forks a ENOMEM 16
	forks b ok 16
	asks a ok 12 touch
	ends a >/dev/null
	begins c --user 0 --cpus 1 --memory 64M
	asks c ok 32 touch
	ends b >/dev/null
	ends c >/dev/null
	until_true "memory is given back" given_back
	down
}

within_job() { # JOB COMMAND...
	local job=$1
	shift
	TACET_JOB=$job $T run --follow -- "$@"
}

asks() { # JOB ANSWER MIB [touch]
	local said
	said=$(within_job $1 python3 ask.py $3 ${4:-} 2>&1)
	[ "$said" = "$2" ] || fail "$3 MiB in job $1 ${4:-}: $said, not $2"
}

forks() { # JOB ANSWER MIB: with so much memory
	local said
	said=$(within_job $1 python3 -c "import errno, mmap, os
memory = mmap.mmap(-1, $3 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, $3 << 20, 4096):
    memory[at] = 1
try:
    child = os.fork()
    if child == 0:
        os._exit(memory[4096])
    print('ok' if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1 else 'lost')
except OSError as error:
    print(errno.errorcode[error.errno])" 2>&1)
	[ "$said" = "$2" ] || fail "fork with $3 MiB in job $1: $said, not $2"
}

# Random steps, with a program in each job: CPUs and jobs are what a model says, and refusals too.
random() {
	local step cpu kind id
	local -a of=(- free linux linux)	# of each CPU: linux, free, or its job
	RANDOM=$(date +%N | sed 's/^0*//')
	note "seed $RANDOM"
	up --cpus 1 --spare 2-3
	for step in $(seq "$(often 12 100)"); do
		cpu=$((RANDOM % 3 + 1)) kind=$((RANDOM % 5)) id=j$((RANDOM % 3))
		case $kind in
		0) random_step grow "$([ ${of[cpu]} = linux ] && echo free || echo ${of[cpu]})" $T grow --cpus $cpu ;;
		1)
			case ${of[cpu]} in
			free | linux) random_step shrink linux $T shrink --cpus $cpu ;;
			*) refused "has it" $T shrink --cpus $cpu ;;
			esac
			;;
		2 | 3) random_begin $id ;;
		4) random_end $id ;;
		esac
		agrees
	done
	for id in j0 j1 j2; do random_end $id; done
	until_true "nothing is hosted" hosted 0
	until_true "memory is given back" given_back
	down
	[ "$(cat $cpus/online)" = 0-3 ] || fail "online: $(cat $cpus/online)"
}

random_step() { # WHAT OWNER COMMAND...: the CPU is the owner's then
	local what=$1 owner=$2
	shift 2
	"$@" >.job-said 2>&1 || fail "step $step: $what $cpu of ${of[cpu]}: $(cat .job-said)"
	of[cpu]=$owner
}

random_begin() { # ID: on $cpu
	case " ${of[*]} " in
	*" $1 "*)
		[ ${of[cpu]} = $1 ] && { begins $1 --user 0 --cpus $cpu; return; }
		refused "other arguments" $T job begin $1 --user 0 --cpus $cpu
		return
		;;
	esac
	case ${of[cpu]} in
	free | linux) ;;
	*)
		refused "has it" $T job begin $1 --user 0 --cpus $cpu
		return
		;;
	esac
	begins $1 --user 0 --cpus $cpu
	of[cpu]=$1
	rm -f $1.rounds
	TACET_JOB=$1 $T run --follow -- $F/victim faults $1.rounds 2>/dev/null &
	[ $((RANDOM % 2)) = 0 ] || until_true "job $1 begins" counted $1.rounds
}

random_end() { # ID: its CPU becomes free, or Linux's
	local at back=""
	[ $((RANDOM % 2)) = 0 ] && back=--return
	ends $1 --grace 1 $back >/dev/null
	for at in 1 2 3; do
		[ ${of[at]} = $1 ] || continue
		of[at]=free
		[ -z "$back" ] || of[at]=linux
	done
}

agrees() { # is what there is what the model says?
	local at here="" jobs=""
	for at in 1 2 3; do
		[ ${of[at]} = linux ] || here="$here$at "
		case ${of[at]} in linux | free) ;; *) jobs="$jobs${of[at]}:$at " ;; esac
	done
	jobs=$(echo $jobs | tr ' ' '\n' | sort | xargs)
	[ "$(partition_cpus | xargs)" = "$(echo $here)" ] || fail "step $step: CPUs $(partition_cpus), not $here"
	[ "$($T job list --json | python3 -c 'import json, sys
print(*sorted("%s:%s" % (job["id"], *job["cpus"]) for job in json.load(sys.stdin)["jobs"]))')" = "$jobs" ] ||
		fail "step $step: $($T job list), not $jobs"
}

# Commands that are killed at any moment: repeated, they do what they should, and nothing is left.
killed() {
	local round
	up --cpus 1 --spare 2-3
	begins beside --user 0 --cpus 1
	TACET_JOB=beside $T run -- $F/victim compute beside.rounds &
	until_true "it computes" counted beside.rounds
	for round in $(seq "$(often 5 30)"); do
		timeout -s KILL 0.$((RANDOM % 9)) $T job begin b --user 0 --cpus 2-3 >/dev/null 2>&1
		begins b --user 0 --cpus 2-3
		rm -f b.rounds
		TACET_JOB=b $T run --follow -- $F/victim threads b.rounds 2>/dev/null &
		until_true "job b begins" counted b.rounds
		timeout -s KILL 0.$((RANDOM % 9)) $T job end b --grace 1 --return >/dev/null 2>&1
		ends b --grace 1 --return >/dev/null
		[ "$(ids)" = beside ] || fail "round $round: jobs $(ids)"
		until_true "its program is gone" hosted 1
		alive beside.rounds
	done
	$T shrink --cpus 2-3 >/dev/null || fail "CPUs 2 and 3 do not go back"
	ends beside >/dev/null
	until_true "memory is given back" given_back
	down
}

# A job whose control group is gone is ended by the sweeper; while the group is there, it says whose job a program is.
swept() {
	local group=/sys/fs/cgroup/batch/job_1
	mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
	up --cpus 1-2
	mkdir -p $group/step_0
	begins 1 --user 0 --cpus 1 --cgroup $group
	begins 2 --user 0 --cpus 2
	refused "several jobs" $T run -- true
	(echo 0 >$group/step_0/cgroup.procs && exec $T run -- $F/victim compute one.rounds) &
	until_true "the program begins" counted one.rounds
	hosted_as $! 1 || fail "it is on another CPU than its job's"
	$T job sweep | grep -q "nothing to do" || fail "the sweeper ends a job that has its group"
	echo $! >/sys/fs/cgroup/cgroup.procs
	rmdir $group/step_0 $group /sys/fs/cgroup/batch
	$T job sweep --dry-run | grep -q "job 1 would be ended" || fail "the sweeper does not notice it"
	[ "$(ids)" = "1 2" ] || fail "a dry run has ended a job"
	$T job sweep | grep -q "job 1 was ended" || fail "the sweeper does not end it"
	ended $! 143
	[ "$(ids)" = 2 ] || fail "jobs: $(ids)"
	ends 2 >/dev/null
	until_true "memory is given back" given_back
	down
}

# CPUs that joined for a job stay for the next one, until a job on Linux or time takes them.
kept() {
	local joined
	up --cpus 1 --spare 2-3
	begins 1 --user 0 --cpus 1-2
	ends 1 --keep-cpus >/dev/null
	[ "$(kept_cpus)" = 2 ] || fail "kept: $(kept_cpus), and only CPU 2 joined for the job"
	$T status | grep -q '^kept *2 for the next job' || fail "status does not say it"
	$T job sweep | grep -q "nothing to do" || fail "the sweeper returns it at once"
	joined=$(joins)
	begins 2 --user 1000 --cpus 2
	[ -z "$(kept_cpus)" ] || fail "a job's CPU is kept: $(kept_cpus)"
	[ "$(joins)" = "$joined" ] || fail "the CPU joins once more"
	$T job release | grep -q "nothing to do" || fail "a job's CPU is released"
	ends 2 --keep-cpus >/dev/null
	[ "$($T job release --cpus 1,3)$($T job sweep --kept-for 1h)" = "nothing to donothing to do" ] || fail "released too early"
	$T job release --cpus 2-3 --dry-run | grep -q "CPU 2 would go to Linux" || fail "no dry run of a release"
	$T job release --cpus 2-3 | grep -q "CPU 2 go" || fail "it is not released"
	[ "$(partition_cpus)" = "1 " ] || fail "the partition has $(partition_cpus)"
	begins 3 --user 0 --cpus 2-3
	ends 3 --keep-cpus >/dev/null
	[ "$(kept_cpus)" = 2-3 ] || fail "kept: $(kept_cpus)"
	$T job sweep --kept-for 1ms | grep -q "CPUs 2-3 go to Linux" || fail "the sweeper does not return them"
	[ -z "$(kept_cpus)" ] || fail "kept: $(kept_cpus)"
	printf '[job]\nkeep = "off"\n' >never.toml
	begins 4 --user 0 --cpus 2
	$T --config never.toml job end 4 --keep-cpus | grep -q "CPU 2 go" || fail "it is kept though nothing is to be"
	# what root wants there stays there
	begins 5 --user 0 --cpus 2
	ends 5 >/dev/null
	[ -z "$(kept_cpus)" ] && [ "$(partition_cpus)" = "1 2 " ] || fail "kept $(kept_cpus) of $(partition_cpus)"
	begins 6 --user 0 --cpus 3
	ends 6 --keep-cpus >/dev/null
	down
}

kept_cpus() {
	$T job list | awk '$NF == "kept" { print $3 }'
}

joins() {
	$T log | grep -c 'joined the partition'
}

begins() { # ID ARGUMENTS
	$T job begin "$@" >.job-said 2>&1 || fail "job begin $*: $(cat .job-said)"
}

ends() { # ID ARGUMENTS
	$T job end "$@" >.job-said 2>&1 || fail "job end $*: $(cat .job-said)"
	cat .job-said
}

ids() {
	$T job list --json | python3 -c 'import json, sys; print(*[job["id"] for job in json.load(sys.stdin)["jobs"]])'
}

partition_cpus() {
	field "' '.join(str(core['cpu']) for core in s['cores']) + ' '"
}

scenario "$@"
