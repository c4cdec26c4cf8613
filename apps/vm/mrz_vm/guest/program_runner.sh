#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Process 1 from then on: sets up what the job wants, runs its program, tells how it ended, and turns the machine off.
# shellcheck shell=dash disable=SC2154 # control, out_port, err_port and modules are job.sh's
folder=/run/mrz-vm
bb=$folder/busybox
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# shellcheck source=SCRIPTDIR/network.sh
. $folder/network.sh
# shellcheck source=/dev/null
. $folder/job.sh

# What the host is told: "failed TEXT", "running", "status NUMBER".
tell() {
    echo "$*" >"$control"
}

fail() {
    echo "mrz-vm: $*"
    tell "failed $*"
    $bb poweroff -f
}

# share TAG FOLDER: a folder of the host's that may be written.
share() {
    $bb mkdir -p "$2"
    $bb mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=none "$1" "$2" || fail "$2 cannot be mounted"
}

# pages FILE COUNT: the kernel takes as many hugepages as it can, which may be fewer.
pages() {
    read -r there <"$1"
    [ "$there" -ge "$2" ] || fail "the guest has $there of $2 hugepages ($1): try a larger --memory"
}

# load NAME_OR_FILE: a module of the kernel's, or a file that modinfo(8) can read, with what it needs.
load() {
    case $1 in
    */*)
        for needed in $(/sbin/modinfo -F depends "$1" | $bb tr , ' '); do
            load "$needed"
        done
        /sbin/insmod "$1" || fail "the module $1 cannot be loaded"
        ;;
    *) /sbin/modprobe "$1" || fail "the module $1 cannot be loaded" ;;
    esac
}

set_up_system() {
    for folder_type in pts:devpts shm:tmpfs hugepages:hugetlbfs; do
        $bb mkdir -p "/dev/${folder_type%:*}"
        $bb mount -t "${folder_type#*:}" none "/dev/${folder_type%:*}"
    done
    $bb chmod 1777 /dev/shm
    for name in fd: stdin:/0 stdout:/1 stderr:/2; do
        $bb ln -sfn "/proc/self/fd${name#*:}" "/dev/${name%:*}"
    done
    $bb mkdir -p /run/lock
    $bb mount -t cgroup2 none /sys/fs/cgroup
    $bb mount -t tracefs none /sys/kernel/tracing
    $bb mount -t debugfs none /sys/kernel/debug
    # Not a link: the machine may have such a folder, of headers at least.
    $bb mkdir -p "/lib/modules/$($bb uname -r)"
    $bb mount -o bind "$modules" "/lib/modules/$($bb uname -r)" || fail "the kernel's modules cannot be mounted"
    $bb hostname mrz-vm
    $bb ip link set lo up
    # As a service manager would; the kernel's own limit is too low for thousands of queues.
    ulimit -Hn 524288
}

set_up_system
# From job.sh: the rest of what was asked for.
set_up_job

# Pipes: a virtio port can be open only once, so a program could not open /dev/stdout.
$bb mkfifo -m 600 $folder/out $folder/err
$bb cat $folder/out >"$out_port" &
out_cat=$!
$bb cat $folder/err >"$err_port" &
err_cat=$!
tell running
$bb setsid $bb sh $folder/program.sh >$folder/out 2>$folder/err </dev/null
status=$?
# Whatever the program left running would keep its pipes open.
for process in /proc/[0-9]*; do
    case ${process#/proc/} in
    1 | "$out_cat" | "$err_cat") ;;
    *) kill -9 "${process#/proc/}" 2>/dev/null ;;
    esac
done
wait "$out_cat" "$err_cat"
$bb sync
tell "status $status"
$bb poweroff -f
