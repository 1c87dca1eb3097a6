# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# facts.sh: what programs find out about CPUs, in all the ways that they use. Run by views.sh on Linux and on the
# partition; both must print the same. Prints nothing that changes from run to run.

places() { # how gcc's OpenMP divides the CPUs
	cat >places.c <<-'C'
		#include <omp.h>
		#include <stdio.h>
		int sched_getcpu(void);
		int main(void)
		{
		#pragma omp parallel
		#pragma omp critical
			printf("thread %d place %d of %d cpu %d\n", omp_get_thread_num(), omp_get_place_num(),
			       omp_get_num_places(), sched_getcpu());
		}
	C
	[ -x places ] || gcc -fopenmp places.c -o places || return
	for where in cores threads sockets '{2},{3}'; do
		for how in close spread; do
			echo "$where $how"
			OMP_PLACES=$where OMP_PROC_BIND=$how ./places 2>&1 | sort | sed 's/\(of 1\) cpu .*/\1/'
		done
	done
}

nproc
grep Cpus_allowed /proc/self/status
grep Cpus_allowed /proc/thread-self/status
taskset -cp $$ | sed 's/.*: //'
numactl -C 2,3 true
echo "numactl $?"
numactl -s | grep physcpubind
numactl -H | grep cpus
getconf _NPROCESSORS_ONLN
getconf _NPROCESSORS_CONF
grep -o '^cpu[0-9]*' /proc/stat
grep -E '^(processor|physical id|core id|siblings|model name|flags|$)' /proc/cpuinfo
lscpu -p=CPU,CORE,SOCKET,NODE
lscpu -C
lscpu | grep -v MHz
head -c 1000 $(find /sys/devices/system/cpu/cpu[0-9]/topology /sys/devices/system/cpu/cpu[0-9]/cache/index* -type f |
	grep -v 'uevent\|power\|ppin\|runtime' | sort)
cat /sys/devices/system/node/node*/cpulist /sys/devices/system/node/node*/cpumap /sys/devices/system/node/has_cpu
cat /sys/devices/system/cpu/online /sys/devices/system/cpu/offline /sys/devices/system/cpu/cpu2/online
hwloc-calc -N pu all
hwloc-bind --get
lstopo-no-graphics --of console | grep -v Host
places
python3 - <<'PYTHON'
import os, select
cpu = "/sys/devices/system/cpu"
directory = os.open(cpu, os.O_RDONLY)
os.chdir("/sys/devices")
for path, at in (("online", directory), ("system/cpu/online", None), ("system/../system/cpu/online", None)):
    file = os.open(path, os.O_RDONLY, dir_fd=at)
    once, again = os.read(file, 99), os.pread(file, 99, 0)
    assert once == again and os.lseek(file, 0, os.SEEK_SET) == 0 and os.read(file, 2) == once[:2], path
    assert os.read(file, 99) == once[2:] and not os.read(file, 99), path
    print(path, once)
reading, writing = os.pipe()
file = os.open("/proc/self/status", os.O_RDONLY)
os.sendfile(writing, file, 0, 4096)
print([line for line in os.read(reading, 4096).split(b"\n") if b"Cpus" in line])
print(len(os.sched_getaffinity(0)), os.cpu_count(), os.sched_getaffinity(0) == {2, 3})
print(int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[36]) in (2, 3))
for path in ("/proc/self/maps", "/proc/self/status", cpu + "/online"):
    with open(path) as file:
        file.read()
        try:
            select.epoll().register(file)
            print(path, "polled")
        except OSError as error:
            print(path, error.errno)
PYTHON
