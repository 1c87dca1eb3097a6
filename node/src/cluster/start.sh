# SPDX-License-Identifier: Apache-2.0 OR MIT
# Runs as root in each node of a cluster after its boot: users, network, shared home, files, then the daemons of munge and
# Slurm. The host gives it NAME, ADDRESS, FIRST, HOME_SHARE, USERS ("name:id ..."), KEY, HOSTS, SLURM, CGROUP.
set -eu
for user in slurm:64030 munge:64031 $USERS; do
	name=${user%:*} id=${user#*:}
	getent group $name >/dev/null || echo "$name:x:$id:" >>/etc/group
	getent passwd $name >/dev/null || echo "$name:x:$id:$id::/home/$name:/bin/bash" >>/etc/passwd
done
modprobe virtio_net
for try in $(seq 100); do
	[ ! -e /sys/class/net/eth0 ] || break
	sleep 0.1
done
ip link set eth0 up
ip addr add $ADDRESS/24 dev eth0
printf %s "$HOSTS" >/etc/hosts

# the home directories are one host directory on all nodes
mount --bind "$HOME_SHARE" /home
for user in $USERS; do
	name=${user%:*}
	mkdir -p /home/$name
	# on a host where nodes are a person's own processes, all files are that person's
	chown $name:$name /home/$name 2>/dev/null || chmod 1777 /home/$name
done

# munge starts only if nobody else may write the directories above its key
install -d -m 755 /run/munge
install -d -m 700 /etc/munge /var/lib/munge /var/log/munge
(umask 077; printf %s "$KEY" >/etc/munge/munge.key)
chmod 400 /etc/munge/munge.key
chmod 755 /etc /var /var/lib /var/log /run
chown -R munge:munge /etc/munge /var/lib/munge /var/log/munge /run/munge

mkdir -p /etc/slurm /var/lib/slurm/ctld /var/lib/slurm/d /var/log/slurm /run/slurm /var/lib/tacet /sys/fs/cgroup/system.slice
chown slurm:slurm /var/lib/slurm/ctld /var/log/slurm /run/slurm
# Slurm 22.05 does not see the last controller of a group: let it be one that no Slurm uses
for group in /sys/fs/cgroup /sys/fs/cgroup/system.slice; do
	echo +pids >$group/cgroup.subtree_control
done
printf %s "$SLURM" >/etc/slurm/slurm.conf
printf %s "$CGROUP" >/etc/slurm/cgroup.conf
[ -e /etc/slurm/plugstack.conf ] || echo 'include /etc/slurm/plugstack.conf.d/*' >/etc/slurm/plugstack.conf
mkdir -p /etc/slurm/plugstack.conf.d
# slurmd counts by this file, so it always counts the whole machine, whichever CPUs Linux has when it starts
rm -f /var/lib/tacet/topology.xml
lstopo-no-graphics --of xml /var/lib/tacet/topology.xml
printf 'HWLOC_XMLFILE=/var/lib/tacet/topology.xml\nHWLOC_THISSYSTEM=1\n' >/etc/default/slurmd

as() { user=$1; shift; setpriv --reuid=$user --regid=$user --clear-groups "$@"; }
as munge /usr/sbin/munged
[ $NAME != $FIRST ] || as slurm /usr/sbin/slurmctld
slurmd=$(command -v slurmd)
# the same words start it again, as a service would
cat >/usr/local/sbin/start-slurmd <<EOF
#!/bin/sh
set -a
. /etc/default/slurmd
exec $slurmd "\$@"
EOF
chmod 755 /usr/local/sbin/start-slurmd
/usr/local/sbin/start-slurmd
