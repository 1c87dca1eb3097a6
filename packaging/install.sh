#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Installs the output of `make build` from build/, or removes what an earlier call installed.
#
#   install.sh install      installs under $DESTDIR$PREFIX (default /usr/local); without DESTDIR also the module, by DKMS
#   install.sh uninstall    removes exactly the files that the last install listed in lib/tacet/manifest
#
# BUILD names another build directory. It never touches a partition that is up.
set -eu
umask 022

source=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$source/build}
prefix=${PREFIX:-/usr/local}
dest=${DESTDIR:-}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$source/tools/tacet/Cargo.toml" | head -n 1)
manifest=$prefix/lib/tacet/manifest
case $prefix in
/usr) etc=/usr/lib ;;
*) etc=/etc ;;
esac

fail() {
	echo "install.sh: $1" >&2
	exit 1
}

# put MODE FROM TO: installs one file; replaces @VERSION@ and @PREFIX@ in our configuration files.
put() {
	target=$dest$3
	mkdir -p "$(dirname "$target")"
	case $2 in
	*.conf | *.service) sed -e "s|@VERSION@|$version|g" -e "s|@PREFIX@|$prefix|g" "$2" >"$target.new" ;;
	*) cp "$2" "$target.new" ;;
	esac
	chmod "$1" "$target.new"
	mv -f "$target.new" "$target"
	echo "$3" >>"$list"
}

# put_tree FROM TO: installs the sources of a directory, without the output of a build.
put_tree() {
	(cd "$1" && find . -type f \( -name '*.[chS]' -o -name Kbuild -o -name Makefile \) ! -name '*.mod.c' | sort) >"$list.tree"
	while read -r file; do
		put 644 "$1/$file" "$2/${file#./}"
	done <"$list.tree"
}

install_files() {
	put 755 "$build/bin/tacet" "$prefix/bin/tacet"
	for program in tacet-noise tacet-sched tacet-tune; do
		put 755 "$build/bin/$program" "$prefix/bin/$program"
	done
	put 644 "$build/lib/tacet/kernel.bin" "$prefix/lib/tacet/kernel.bin"
	put 644 "$build/lib/tacet/static.elf" "$prefix/lib/tacet/static.elf"
	echo "$version" >"$work/version"
	put 644 "$work/version" "$prefix/lib/tacet/version"

	"$build/bin/tacet" --config /dev/null man "$work/man"
	for program in tacet-noise tacet-sched tacet-tune; do
		"$build/bin/$program" man "$work/man"
	done
	for page in "$work"/man/*.1; do
		put 644 "$page" "$prefix/share/man/man1/${page##*/}"
	done
	for shell in bash zsh fish; do
		"$build/bin/tacet" --config /dev/null completions $shell >"$work/$shell"
	done
	put 644 "$work/bash" "$prefix/share/bash-completion/completions/tacet"
	put 644 "$work/zsh" "$prefix/share/zsh/site-functions/_tacet"
	put 644 "$work/fish" "$prefix/share/fish/vendor_completions.d/tacet.fish"

	for program in tacet-noise tacet-sched tacet-tune; do
		for shell in bash zsh fish; do
			"$build/bin/$program" completions $shell >"$work/$shell"
		done
		put 644 "$work/bash" "$prefix/share/bash-completion/completions/$program"
		put 644 "$work/zsh" "$prefix/share/zsh/site-functions/_$program"
		put 644 "$work/fish" "$prefix/share/fish/vendor_completions.d/$program.fish"
	done

	put 644 "$source/packaging/tacet.toml" "$prefix/share/doc/tacet/tacet.toml"
	put 644 "$source/packaging/udev/60-tacet.rules" "$etc/udev/rules.d/60-tacet.rules"
	put 644 "$source/packaging/udev/tacet.conf" "$etc/sysusers.d/tacet.conf"
	put 644 "$source/packaging/systemd/tacet.service" "$etc/systemd/system/tacet.service"
	put 644 "$source/packaging/systemd/tacet-tune.service" "$etc/systemd/system/tacet-tune.service"
	put 644 "$source/packaging/systemd/tacet-iod.service" "$etc/systemd/system/tacet-iod.service"
	put 644 "$source/packaging/systemd/tacet-job-sweep.service" "$etc/systemd/system/tacet-job-sweep.service"
	put 644 "$source/packaging/systemd/tacet-job-sweep.timer" "$etc/systemd/system/tacet-job-sweep.timer"

	# Sites build MPI-FWQ with their own MPI: make -C PREFIX/share/tacet/mpi-fwq/mpi OUT=...
	put_tree "$source/noise/mpi" "$prefix/share/tacet/mpi-fwq/mpi"
	put_tree "$source/noise/loop" "$prefix/share/tacet/mpi-fwq/loop"

	# Sites build the plugin against their own Slurm: make -C PREFIX/share/tacet/slurm OUT=... install
	put_tree "$source/packaging/slurm" "$prefix/share/tacet/slurm"
	# ... or name these in slurm.conf
	for script in prolog.sh epilog.sh; do
		put 755 "$source/packaging/slurm/$script" "$prefix/share/tacet/slurm/$script"
	done

	put 644 "$source/packaging/dkms/dkms.conf" "/usr/src/tacet-$version/dkms.conf"
	put_tree "$source/linux" "/usr/src/tacet-$version/linux"
	# the only image that the module runs where Linux verifies signatures
	sha256sum "$build/lib/tacet/kernel.bin" | cut -d' ' -f1 >"$work/image.sha256"
	put 644 "$work/image.sha256" "/usr/src/tacet-$version/linux/image.sha256"
	put_tree "$source/abi/include" "/usr/src/tacet-$version/abi/include"
	put_tree "$source/pico/linux" "/usr/src/tacet-$version/pico/linux"
	put_tree "$source/pico/nvme/linux" "/usr/src/tacet-$version/pico/nvme/linux"
}

# Group, device rule and module: the parts of an installation that are not files.
activate() {
	getent group tacet >/dev/null || groupadd --system tacet
	command -v udevadm >/dev/null && udevadm control --reload 2>/dev/null || :
	if ! command -v dkms >/dev/null; then
		echo "install.sh: dkms is not installed, so the module is not built; install dkms and the kernel's headers, then repeat" >&2
		return
	fi
	dkms install "tacet/$version" || fail "module: DKMS could not build it; see /var/lib/dkms/tacet/$version/build/make.log"
}

install() {
	[ -x "$build/bin/tacet" ] || fail "$build/bin/tacet: not built; run \`make build\`"
	for program in tacet-noise tacet-sched tacet-tune; do
		[ -x "$build/bin/$program" ] || fail "$build/bin/$program: not built; run \`make build\`"
	done
	for image in kernel.bin static.elf; do
		[ -f "$build/lib/tacet/$image" ] || fail "$build/lib/tacet/$image: not built; run \`make build\`"
	done
	if [ -f "$work/installed" ]; then
		remove_module
		remove_files
	fi
	install_files
	echo "$manifest" >>"$list"
	mkdir -p "$dest$(dirname "$manifest")"
	cp "$list" "$dest$manifest"
	[ -n "$dest" ] || activate
	echo "installed under $dest$prefix; \`tacet doctor\` says whether this machine can run a partition"
}

# Removes the earlier installation's module, of any version, from DKMS. A loaded module stays loaded.
remove_module() {
	if [ -z "$dest" ] && command -v dkms >/dev/null; then
		dkms remove "tacet/$(cat "$prefix/lib/tacet/version")" --all || :
	fi
}

# Removes the files, then those of our directories that became empty.
remove_files() {
	while read -r file; do
		rm -f "$dest$file"
		dir=$(dirname "$file")
		while [ "$dir" != "${dir#*/tacet}" ] && rmdir "$dest$dir" 2>/dev/null; do
			dir=$(dirname "$dir")
		done
	done <"$work/installed"
}

uninstall() {
	[ -x "$build/bin/tacet" ] || fail "$build/bin/tacet: not built; run \`make build\`"
	[ -f "$build/lib/tacet/kernel.bin" ] || fail "$build/lib/tacet/kernel.bin: not built; run \`make build\`"
	[ -f "$work/installed" ] || fail "$dest$manifest: nothing is installed there; name the PREFIX of the installation"
	remove_module
	remove_files
	echo "uninstalled; the group tacet and a loaded module stay (\`groupdel tacet\`, \`rmmod tacet\`)"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
list=$work/list
: >"$list"
[ ! -f "$dest$manifest" ] || cp "$dest$manifest" "$work/installed"
case ${1-} in
install) install ;;
uninstall) uninstall ;;
*) fail "say install or uninstall" ;;
esac
