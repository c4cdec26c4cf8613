# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# shellcheck disable=SC2034 # the lists are for those who source this
#
# What the scripts that take a bare machine to a running program have in common. To be sourced, with bash; needs
# `set -euo pipefail`. Everything that these functions say goes to standard error.

# The project's folder, wherever the script was called from.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# Debian 12's names. libdpdk-dev brings every driver package, and so the one that mempools need at run time.
build_packages=(
    g++ meson ninja-build pkg-config
    libdpdk-dev libnuma-dev liburing-dev libibverbs-dev librdmacm-dev
    libcli11-dev libfmt-dev libhugetlbfs-dev nlohmann-json3-dev
)
# dpdk-dev has dpdk-telemetry.py. The kernel's headers are what layouts of its firmware interface are compared with.
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev python3 iproute2 dpdk-dev linux-headers-amd64)
# For guests that mrz-vm boots, and what the tests run in them.
lab_packages=(
    qemu-system-x86 busybox-static zstd xz-utils kmod make gcc-12 libelf1
    ibverbs-utils rdmacm-utils perftest python3-pyverbs
)
ci_packages=(clang-format clang-tidy git shellcheck)

say() {
    printf '== %s\n' "$*" >&2
}

die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

need_root() {
    [ "$(id -u)" -eq 0 ] || die "needs root, to install packages and to reserve hugepages; try: sudo $0${*:+ $*}"
}

# Installs those of the given packages that are not there. Touches neither apt nor the network if all are.
install_missing() {
    local package missing=()
    for package in "$@"; do
        dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
    if [ ${#missing[@]} -eq 0 ]; then
        say "every package that is needed is installed"
        return
    fi
    command -v apt-get >/dev/null || die "these packages are missing, and there is no apt-get: ${missing[*]}"
    say "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    # A run that was killed may have left dpkg half-way. Lists are fetched only if what is known does not suffice.
    dpkg --configure -a >&2
    apt_install "${missing[@]}" || {
        apt-get -o DPkg::Lock::Timeout=300 update -q >&2
        apt_install "${missing[@]}"
    }
}

apt_install() {
    apt-get -o DPkg::Lock::Timeout=300 install -q -y --no-install-recommends "$@" >&2
}

# build FOLDER [MESON OPTION]... -- [TARGET]...
# Configures (anew, since packages may have come since the last time) and builds.
build() {
    local folder=$1 options=()
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    [ $# -eq 0 ] || shift
    if [ -f "$folder/build.ninja" ] &&
        meson setup --reconfigure "${options[@]}" "$folder" "$root" >"$folder/configure.log" 2>&1; then
        say "building in $folder"
    else
        # New, or left by a configuration that was killed.
        rm -rf -- "$folder"
        say "configuring and building in $folder"
        meson setup "${options[@]}" "$folder" "$root" >&2 || return
    fi
    ninja -C "$folder" "$@" >&2
}
