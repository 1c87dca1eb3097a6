# SPDX-License-Identifier: Apache-2.0 OR MIT
# Runs as root on a node of a cluster: from then on, alice reaches it from the other nodes by ssh without a question. Does
# nothing if the daemon runs. Only the nodes have this network, and its keys end with the cluster.
set -eu
keys=/home/alice/.ssh
# a loss of power ends the daemon, and leaves nothing in /run
[ ! -e /run/sshd.pid ] || exit 0
if [ ! -e $keys ]; then
	runuser -u alice -- mkdir -m 700 $keys
	runuser -u alice -- ssh-keygen -q -t ed25519 -N '' -f $keys/id_ed25519
	runuser -u alice -- cp $keys/id_ed25519.pub $keys/authorized_keys
fi
# the host's own key proves nothing to nodes that boot anew with another one
cat >/etc/ssh/ssh_config.d/cluster.conf <<EOF
BatchMode yes
LogLevel ERROR
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
EOF
cat >/etc/ssh/sshd_config.d/cluster.conf <<EOF
AllowUsers alice
PasswordAuthentication no
# a user of these nodes has a key, and nothing that PAM could look at: no entry in shadow
UsePAM no
EOF
ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
mkdir -p /run/sshd
# a shell becomes its last command, and an sshd that leads its session under process 1 takes itself for a daemon: it would
# never come back. So this is not the last command
/usr/sbin/sshd -E /var/log/sshd.log || exit
