#!/bin/sh
# Boots a Debian system with systemd in namespaces of its own, installs the package and runs services.sh there:
# `cargo xtask install-test` calls it as root with the system's folder. Nothing of this machine is in reach of it but the
# kernel, and below its own control group no controller is used.
set -eu
system=$1

if [ -e /sys/fs/cgroup/cgroup.procs ]; then group=/sys/fs/cgroup/sealcast-test; else group=/sys/fs/cgroup/systemd/sealcast-test; fi
mkdir -p "$group"
boot=
end() {
    if [ -n "$boot" ]; then kill -9 "$boot" 2>/dev/null || true; fi
    sleep 1
    find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
}
trap end EXIT

# pivot_root and not chroot: a process in a chroot may not make user namespaces, and units have PrivateUsers=yes.
inner='
set -eu
system=$1
ip link set lo up
mount --make-rprivate /
mount --bind "$system" "$system"
cd "$system"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
if [ -e /sys/fs/cgroup/cgroup.procs ]; then
    mount -t cgroup2 cgroup2 sys/fs/cgroup
else
    mount -t tmpfs tmpfs sys/fs/cgroup
    mkdir sys/fs/cgroup/systemd
    mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
fi
for folder in run tmp dev; do mount -t tmpfs -o mode=755 tmpfs $folder; done
chmod 1777 tmp
for device in null zero full random urandom tty; do touch dev/$device; mount --bind /dev/$device dev/$device; done
mkdir -p dev/pts dev/shm old
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
pivot_root . old
cd /
exec env -i container=sealcast-test PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -c \
    "umount -l /old && rmdir /old; mount --make-rshared /; exec /lib/systemd/systemd --log-target=null --show-status=0"
'
(
    sh -c 'echo $PPID' >"$group/cgroup.procs"
    exec unshare --mount --pid --fork --kill-child --net --ipc --uts --cgroup sh -c "$inner" sh "$system" </dev/null
) &
boot=$!

inside() { nsenter --target "$first" --mount --pid --net --ipc --uts env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
for _ in $(seq 600); do
    first=$(cat "/proc/$boot/task/$boot/children" 2>/dev/null | tr -d ' ')
    if [ -n "$first" ] && [ -S "/proc/$first/root/run/systemd/private" ]; then break; fi
    kill -0 "$boot" 2>/dev/null || { echo "FAILED: systemd ended" >&2; exit 1; }
    sleep 0.1
done
inside sh /packages/services.sh
