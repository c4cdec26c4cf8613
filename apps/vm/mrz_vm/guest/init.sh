#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Process 1 of the initramfs: makes the host's root, with a layer in memory over it, the guest's own, and goes there.
# shellcheck shell=dash disable=SC2154 # control is job.sh's
bb=/bin/busybox
# shellcheck source=/dev/null
. /mrz-vm/job.sh

fail() {
    echo "mrz-vm: $*"
    [ ! -c "$control" ] || echo "failed $*" >"$control"
    $bb poweroff -f
}

$bb mount -t proc proc /proc
$bb mount -t sysfs sysfs /sys
$bb mount -t devtmpfs dev /dev
while read -r module; do
    $bb insmod "/modules/$module" || fail "the module $module cannot be loaded"
done </modules/list

share=trans=virtio,version=9p2000.L,msize=512000
# Nobody changes these files while the guest runs, or at least not those that it has read.
$bb mount -t 9p -o "$share,ro,cache=loose" host /host || fail "the host's root cannot be mounted"
$bb mount -t tmpfs -o mode=755 layer /layer
$bb mkdir /layer/upper /layer/work
$bb mount -t overlay -o lowerdir=/host,upperdir=/layer/upper,workdir=/layer/work root /root ||
    fail "no layer can be laid over the host's root"
for folder in proc sys dev run; do
    [ -d "/root/$folder" ] || $bb mkdir "/root/$folder"
done
$bb mount --move /proc /root/proc
$bb mount --move /sys /root/sys
$bb mount --move /dev /root/dev
$bb mount -t tmpfs -o mode=755 run /root/run
$bb mkdir /root/run/mrz-vm
$bb cp /bin/busybox /mrz-vm/* /root/run/mrz-vm
# Not chroot: the kernel's own calls of modprobe look into the root of process 1.
exec $bb switch_root /root /run/mrz-vm/busybox sh /run/mrz-vm/program_runner.sh
