# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
#
# Links within the guest. Taken in by program_runner.sh, whose load() and fail() it uses; job.sh calls these.
ip=/sbin/ip

# must COMMAND...
must() {
    "$@" || fail "a link cannot be set up ($*)"
}

# set_up_rdma TYPE: a device over one end of a link, with the address 10.0.0.1. All peers are in the guest and use that
# one device: rxe and siw pass nothing between two devices of one host, and serve the first network namespace only.
set_up_rdma() {
    for module in ib_uverbs rdma_ucm veth; do
        load $module
    done
    # Frames that hold the largest packets of RDMA, 4096 bytes.
    must $ip link add rdma0 mtu 9000 type veth peer name rdma1 mtu 9000
    must $ip address add 10.0.0.1/24 dev rdma0
    must $ip link set rdma0 up
    must $ip link set rdma1 up
    must /usr/bin/rdma link add "${1}0" type "$1" netdev rdma0
}

set_up_rxe() {
    load rdma_rxe
    set_up_rdma rxe
}

set_up_siw() {
    set_up_rdma siw
}

# How many RDMA devices there are.
count_devices() {
    set -- /sys/class/infiniband/*
    [ -e "$1" ] || shift
    echo $#
}

# set_up_adapters COUNT: the drivers of mlx5, which make mlx5_0 and so on of the machine's adapters.
set_up_adapters() {
    for module in mlx5_ib ib_uverbs rdma_ucm; do
        load $module
    done
    tries=0
    while [ "$(count_devices)" -lt "$1" ]; do
        tries=$((tries + 1))
        [ $tries -le 50 ] || fail "the driver mlx5 made $(count_devices) of $1 devices"
        sleep 0.2
    done
}

# set_up_address DEVICE ADDRESS: of the network device of an RDMA device, which then has a GID of that address.
set_up_address() {
    for port in "/sys/class/infiniband/$1/device/net/"*; do
        must $ip link set "${port##*/}" up
        must $ip address add "$2/24" dev "${port##*/}"
    done
    tries=0
    # An IPv4 address, mapped.
    until grep -qs 0000:ffff: "/sys/class/infiniband/$1/ports/1/gids/"*; do
        tries=$((tries + 1))
        [ $tries -le 100 ] || fail "$1 has no GID of the address $2"
        sleep 0.2
    done
}

# set_up_cable MAC ADDRESS: the network link to another guest.
set_up_cable() {
    load virtio_net
    for port in /sys/class/net/*; do
        read -r mac <"$port/address"
        if [ "$mac" = "$1" ]; then
            must $ip address add "$2/24" dev "${port##*/}"
            must $ip link set "${port##*/}" up
            return
        fi
    done
    fail "the cable is not there"
}

# Network namespaces mrz0 and mrz1, joined by a link, with the addresses 10.1.0.1 and 10.1.0.2.
set_up_namespaces() {
    load veth
    must $ip netns add mrz0
    must $ip netns add mrz1
    must $ip -n mrz0 link add link0 type veth peer name link1 netns mrz1
    for number in 0 1; do
        must $ip -n mrz$number address add 10.1.0.$((number + 1))/24 dev link$number
        must $ip -n mrz$number link set lo up
        must $ip -n mrz$number link set link$number up
    done
}
