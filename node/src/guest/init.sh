#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# The node's first program, in the initramfs. Loads the drivers beside it, makes a root of the read-only tree image
# and a tmpfs (or stays, where there is no disk), mounts what programs expect, and becomes the agent. Run by the kernel; says what failed on the
# console and powers off, so that the host sees the end at once.
# Must never read from or write to anything but the console: the agent's port belongs to the agent.
b=/bin/busybox
die() { echo "node init: $1"; $b poweroff -f; $b sleep 60; }

$b mount -t devtmpfs dev /dev
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
# the accelerator probe asks only whether a guest gets this far
if $b grep -q tacet.probe /proc/cmdline; then echo "tacet probe: alive" >/dev/ttyS0; $b poweroff -f; $b sleep 60; fi

# a kernel may have all drivers built in
for m in /modules/*; do [ -e "$m" ] || continue; $b insmod $m || die "cannot load $m"; done

port_of() { # the directory that sysfs is mounted under
	for p in $1/sys/class/virtio-ports/*; do
		[ "$($b cat $p/name 2>/dev/null)" = tacet.agent ] && echo /dev/${p##*/}
	done
}

# a reproducible node has no disk, whose answers would come when the host likes: the initramfs stays its root
if [ -e /no-disk ]; then
	$b --install -s /bin
	printf '#!/bin/sh\nexec /bin/sh "$@"\n' >/bin/bash && $b chmod 755 /bin/bash
	# no tmpfs where a copied share may be
	$b mkdir -p /tmp /run /dev/shm
	$b mount -t tmpfs tmpfs /dev/shm
	$b ip link set lo up
	port=$(port_of "")
	[ -n "$port" ] || die "no agent port"
	exec /agent $port /first
fi

tries=0
until [ -b /dev/vda ]; do
	tries=$((tries + 1)); [ $tries -lt 500 ] || die "no root disk /dev/vda"
	$b usleep 20000
done
$b mount -t tmpfs upper /upper && $b mkdir /upper/data /upper/work || die "no tmpfs"
$b mount -t ext4 -o ro /dev/vda /lower || die "cannot mount the root image"
# a node of a cluster has more software, on a disk of its own; its name is among the kernel's arguments
layers=/lower name=node
for word in $($b cat /proc/cmdline); do
	case $word in tacet.name=*) name=${word#*=} ;; esac
done
if [ $name != node ]; then
	for disk in /sys/block/vd*; do
		[ "$($b cat $disk/serial)" = cluster ] || continue
		$b mkdir -p /more && $b mount -t ext4 -o ro /dev/${disk##*/} /more || die "cannot mount the cluster's disk"
		layers=/more:/lower
	done
fi
$b mount -t overlay -o lowerdir=$layers,upperdir=/upper/data,workdir=/upper/work root /root || die "cannot mount the overlay"

for d in dev proc sys; do $b mount --move /$d /root/$d; done
for d in tmp run dev/shm; do $b mkdir -p /root/$d; $b mount -t tmpfs tmpfs /root/$d; done
$b mkdir -p /root/dev/pts && $b mount -t devpts devpts /root/dev/pts
for pair in tracefs:kernel/tracing debugfs:kernel/debug bpf:fs/bpf cgroup2:fs/cgroup securityfs:kernel/security; do
	$b mount -t ${pair%%:*} ${pair%%:*} /root/sys/${pair#*:} 2>/dev/null
done
for pair in fd:fd fd/0:stdin fd/1:stdout fd/2:stderr; do $b ln -sf /proc/self/${pair%%:*} /root/dev/${pair#*:}; done
$b ip link set lo up
$b hostname $name
$b chmod 1777 /root/tmp /root/dev/shm

port=$(port_of /root)
[ -n "$port" ] || die "no agent port"
$b mkdir -p /root/run/tacet
$b cp /agent /root/run/tacet/agent
# a node that runs one command has it from the start: nothing that the host does later can disturb it
first=
if [ -e /first ]; then $b cp /first /root/run/tacet/first; first=/run/tacet/first; fi
# a node with systemd has the agent as a service of it
if $b grep -qw tacet.systemd /root/proc/cmdline; then
	units=/root/run/systemd/system
	$b mkdir -p $units/multi-user.target.wants
	printf '[Unit]\nDescription=Commands of the host\n[Service]\nExecStart=/run/tacet/agent %s\n' $port >$units/tacet-agent.service
	$b ln -s ../tacet-agent.service $units/multi-user.target.wants/tacet-agent.service
	exec $b switch_root /root /lib/systemd/systemd
fi
exec $b switch_root /root /run/tacet/agent $port $first
