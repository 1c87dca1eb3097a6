#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Runs in the tree, with a layer on top of it that takes what it writes: cluster.sh SLURM PACKAGE... installs the packages by
# apt, those of Slurm in the version that begins with SLURM. No daemon starts. Which MPI the tree has chosen stays chosen.
set -eu
slurm=$1; shift
export DEBIAN_FRONTEND=noninteractive
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
# each release of Debian among the sources has another Slurm
printf 'Package: slurm* libslurm*\nPin: version %s.*\nPin-Priority: 1001\n' "$slurm" >/etc/apt/preferences.d/slurm
apt-get update -q
apt-get install -y -q --no-install-recommends -o DPkg::Options::=--force-unsafe-io \
	-o DPkg::Options::=--path-exclude='/usr/share/man/*' -o DPkg::Options::=--path-exclude='/usr/share/doc/*' "$@"
rm /usr/sbin/policy-rc.d
apt-get clean
find /var/lib/apt/lists -type f ! -name lock -delete
# an address of a node's own key is no secret of a tree that everybody has: each node makes its keys
rm -f /etc/ssh/ssh_host_* /etc/munge/munge.key
# the daemons of a node with systemd start when the cluster has been configured
find /etc/systemd/system -name 'slurm*' -delete -o -name 'munge*' -delete -o -name 'ssh*' -delete
