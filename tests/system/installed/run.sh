#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# run.sh BUILD_FOLDER SOURCE_ROOT
# Installs the build into a folder of its own, builds the examples outside of the tree as a user would, with nothing
# but pkg-config to guide them, and runs them on real hugepages.
set -euo pipefail
build=$1
source_root=$2

skip() {
    echo "needed here: $1"
    [ -z "${MRZ_STRICT-}" ] || exit 1
    exit 77
}

[ "$(id -u)" -eq 0 ] || skip "root, for hugepages and their frames"
pool=/sys/kernel/mm/hugepages/hugepages-2048kB
[ -d "$pool" ] || skip "a kernel with 2-MiB hugepages"

work=$(mktemp -d)
pages=$(<"$pool/nr_hugepages")
trap 'rm -rf -- "$work"; echo "$pages" >"$pool/nr_hugepages"' EXIT
echo $((pages + 256)) >"$pool/nr_hugepages"
free=$(<"$pool/free_hugepages")
[ "$free" -ge 256 ] || skip "256 free 2-MiB hugepages, the kernel has $free"

DESTDIR=$work/stage meson install -C "$build" --no-rebuild --quiet
pc=$(find "$work/stage" -name mrzone.pc)
[ -n "$pc" ] || {
    echo "no mrzone.pc was installed"
    exit 1
}
# The staged copy is used where it lies.
prefix=$(sed -n 's/^prefix=//p' "$pc")
sed -i "s|^prefix=.*|prefix=$work/stage$prefix|" "$pc"
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
LD_LIBRARY_PATH=$(pkg-config --variable=libdir mrzone)
export LD_LIBRARY_PATH

mkdir "$work/c"
cp "$source_root"/doc/examples/c/*.c "$work/c"
cp -r "$source_root/doc/examples/cpp" "$work/cpp"

echo "== C"
cd "$work/c"
for example in lend_blocks pool_from_arena skeleton_forwarding storage_buffers zone_with_keys; do
    # shellcheck disable=SC2046 # words are wanted
    cc -Wall -Wextra -Werror -o "$example" "$example.c" $(pkg-config --cflags --libs mrzone libdpdk)
done
echo "== C++"
cd "$work/cpp"
meson setup build -Dwerror=true
ninja -C build

# run PROGRAM: its output is in "$work/output".
run() {
    echo "== $1"
    # The library is the one that was just installed, and no other.
    ldd "$1" | grep -F "libmrzone.so.0 => $LD_LIBRARY_PATH/"
    "$1" --in-memory --no-pci --no-telemetry -l 0 --log-level error | tee "$work/output"
    # The plan was said.
    grep -Eq '1 key, [0-9]+ entr(y|ies) of ' "$work/output"
}

for program in "$work/c/pool_from_arena" "$work/cpp/build/pool_from_arena"; do
    run "$program"
    # 8191 buffers were had from a heap that is not the EAL's own.
    grep -Eq '^8191 buffers from socket (25[6-9]|2[6-9][0-9])$' "$work/output"
done
run "$work/c/zone_with_keys"
grep -Eq '^for peers: 33554432 bytes at iova 0x[0-9a-f]+ by rkey 0x[0-9a-f]+$' "$work/output"
grep -Eq '^for work requests here: lkey 0x[0-9a-f]+$' "$work/output"
run "$work/c/lend_blocks"
grep -Eq '^blocks 5 and 2: 131072 bytes at iova 0x[0-9a-f]+ by rkey 0x[0-9a-f]+$' "$work/output"
grep -Eq '^block 7: 65536 bytes at iova 0x[0-9a-f]+ by rkey 0x[0-9a-f]+$' "$work/output"

echo "== storage_buffers"
"$work/c/storage_buffers" | tee "$work/output"
grep -Eq '^a list of 16 blocks: lkeys 0x[0-9a-f]+ to 0x[0-9a-f]+$' "$work/output"
grep -Eq '^9[0-9][0-9] leases of a region that was there, [0-9]+ registrations$' "$work/output"

echo "== skeleton_forwarding"
# Three packets on the one port's file, which are to leave by the other's, byte for byte.
pcap_header='\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x01\0\0\0'
packet_header='\0\0\0\0\0\0\0\0\x40\0\0\0\x40\0\0\0'
printf %b "$pcap_header" | tee "$work/in.pcap" >"$work/empty.pcap"
for i in 1 2 3; do
    printf %b "$packet_header" >>"$work/in.pcap"
    printf '%064d' "$i" | tee -a "$work/payload" >>"$work/in.pcap"
done
ldd "$work/c/skeleton_forwarding" | grep -F "libmrzone.so.0 => $LD_LIBRARY_PATH/"
# What leaves is read as it comes, so that the end of the last packet is the time to stop. A record is a header of 16
# bytes and the packet; the file begins with one of 24.
mkfifo "$work/out.fifo"
timeout 60 head -c $((24 + 3 * (16 + 64))) "$work/out.fifo" >"$work/out.pcap" &
reader=$!
"$work/c/skeleton_forwarding" --in-memory --no-pci --no-telemetry -l 0 --log-level error \
    --vdev="net_pcap0,rx_pcap=$work/in.pcap,tx_pcap=$work/back.pcap" \
    --vdev="net_pcap1,rx_pcap=$work/empty.pcap,tx_pcap=$work/out.fifo" >"$work/output" &
forwarder=$!
wait "$reader" || true # what is missing, the comparison says
kill -TERM "$forwarder"
wait "$forwarder"
cat "$work/output"
grep -Eq '1 key, [0-9]+ entr(y|ies) of ' "$work/output"
grep -qx '3 packets forwarded' "$work/output"
for i in 0 1 2; do
    tail -c +$((24 + i * 80 + 16 + 1)) "$work/out.pcap" | head -c 64
done | cmp - "$work/payload"

echo "== manual"
# Every call is found by its own name.
manuals=$(dirname "$(find "$work/stage" -name mrzone.3)")
while read -r call; do
    grep -q "^\.Fo $call\$" "$manuals/$call.3" || {
        echo "$call has no page"
        exit 1
    }
done < <(sed -n 's/@.*//p' "$source_root/tests/structure/c_symbols.txt")

left=$(<"$pool/free_hugepages")
[ "$left" -eq "$free" ] || {
    echo "$free hugepages were free before, $left are now"
    exit 1
}
