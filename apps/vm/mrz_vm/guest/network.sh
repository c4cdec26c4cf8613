# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
#
# Links within the guest. Taken in by program_runner.sh, whose fail() it uses; job.sh calls these.
ip=/sbin/ip

# must COMMAND...
must() {
    "$@" || fail "a link cannot be set up ($*)"
}

# An RDMA device "rxe0" over one end of a link, with the address 10.0.0.1. All peers are in the guest and use that
# one device: rxe does not pass packets between two devices of one host, and serves the first network namespace only.
set_up_rxe() {
    for module in rdma_rxe ib_uverbs rdma_ucm veth; do
        /sbin/modprobe $module || fail "the module $module cannot be loaded"
    done
    # Frames that hold the largest packets of RDMA, 4096 bytes.
    must $ip link add rdma0 mtu 9000 type veth peer name rdma1 mtu 9000
    must $ip address add 10.0.0.1/24 dev rdma0
    must $ip link set rdma0 up
    must $ip link set rdma1 up
    must /usr/bin/rdma link add rxe0 type rxe netdev rdma0
}

# Network namespaces mrz0 and mrz1, joined by a link, with the addresses 10.1.0.1 and 10.1.0.2.
set_up_namespaces() {
    /sbin/modprobe veth || fail "the module veth cannot be loaded"
    must $ip netns add mrz0
    must $ip netns add mrz1
    must $ip -n mrz0 link add link0 type veth peer name link1 netns mrz1
    for number in 0 1; do
        must $ip -n mrz$number address add 10.1.0.$((number + 1))/24 dev link$number
        must $ip -n mrz$number link set lo up
        must $ip -n mrz$number link set link$number up
    done
}
