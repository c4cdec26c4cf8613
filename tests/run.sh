#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs what is missing, builds, and runs the tests. The last line is "N passed, N failed, N skipped"; the exit
# status is 0 only if something passed and nothing failed or was skipped.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../apps/common/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/../apps/common/setup.sh"

usage() {
    cat <<END
usage: sudo tests/run.sh [unit|soak|lab]

  (nothing)  unit and system tests: these reserve hugepages for as long as they run
  unit       unit tests: no hugepages; needs root only if packages are missing
  soak       threads map, use and unmap memory that others lease, fork in the midst of it, and never meet a stale key
             or leave anything behind: \$MRZ_SOAK_SECONDS for each of its tests, a minute unless it is set; and in
             virtual machines what the lab leaves out of adapters' kernels and ways, with drivers that are loaded anew
             and processes that are killed \$MRZ_CONNECTX_ROUNDS times, 30 unless it is set
  lab        in virtual machines with stock kernels, which have RDMA devices, NUMA nodes, an IOMMU: see mrz-vm(1). Kernels,
             and a QEMU that devices of other processes need, are fetched once, into /var/cache/mrzone

Whatever filters GoogleTest's cases (\$GTEST_FILTER) does so here, but not in the soak, and in those machines.
END
}

# ---- Hugepages ----------------------------------------------------------------------------------------------------

# Apart from the journal of mrz, whose restoring is itself under test.
journal=/run/mrzone-tests.pools

pool_files() {
    ls -d /sys/devices/system/node/node*/hugepages/hugepages-*/nr_hugepages 2>/dev/null ||
        ls -d /sys/kernel/mm/hugepages/hugepages-*/nr_hugepages 2>/dev/null || true
}

# "FILE VALUE" for every pool.
pools_now() {
    local file
    for file in $(pool_files); do
        printf '%s %s\n' "$file" "$(<"$file")"
    done
}

# Pages that somebody holds, over all sizes.
pages_in_use() {
    local file in_use=0
    for file in $(pool_files); do
        in_use=$((in_use + $(<"$file") - $(<"${file%/*}/free_hugepages")))
    done
    echo "$in_use"
}

# Fails if the pools could not be put back.
pools_back() {
    [ -f "$journal" ] || return 0
    local file value
    while read -r file value; do
        [ "$(<"$file")" = "$value" ] || echo "$value" >"$file" || true
    done <"$journal"
    if pools_now | cmp -s - "$journal"; then
        say "hugepage pools are as they were"
        rm -f "$journal"
    else
        say "hugepage pools could not be put back; they were, and are:"
        diff "$journal" <(pools_now) >&2 || true
        rm -f "$journal"
        return 1
    fi
}

# The tests change pools and put them back; what they could not put back, because they were killed, is put back here.
# Written whole before anything changes: a kill of this script is undone by the next run.
note_pools() {
    pools_now >"$journal.new"
    mv "$journal.new" "$journal"
}

# ---- Tests --------------------------------------------------------------------------------------------------------

failed=0

# run_suite SUITE PROCESSES
run_suite() {
    say "$1 tests"
    MRZ_STRICT=1 GTEST_OUTPUT="xml:$results/$1/" \
        meson test -C "$folder" --no-rebuild --suite "$1" --num-processes "$2" --print-errorlogs \
        --timeout-multiplier 4 --logbase "$1" >&2 || failed=1
}

mode=${1-}
[ $# -le 1 ] || mode=unknown
case $mode in
'') suites=(unit system) ;;
unit) suites=(unit) ;;
soak)
    suites=(soak)
    export MRZ_SOAK_SECONDS=${MRZ_SOAK_SECONDS:-60}
    ;;
lab) suites=(lab) ;;
-h | --help)
    usage
    exit 0
    ;;
*)
    usage >&2
    exit 2
    ;;
esac

if [ "$mode" != unit ] || [ "$(id -u)" -eq 0 ]; then
    need_root "$@"
    packages=("${build_packages[@]}" "${test_packages[@]}")
    [ "$mode" != lab ] && [ "$mode" != soak ] || packages+=("${lab_packages[@]}")
    install_missing "${packages[@]}"
fi

folder=$root/build-tests
targets=()
[ "$mode" != unit ] || targets=(-- unit_programs)
build "$folder" "${targets[@]}" || {
    echo "failed: the build in $folder"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
}
results=$folder/results
rm -rf -- "$results" "$folder"/meson-logs/{unit,system,soak,lab}.json

if [ "$mode" != unit ]; then
    # Tests that a killed run left behind hold the lock until they end.
    exec {lock}>/run/lock/mrzone-tests.lock
    flock -n "$lock" || {
        say "another run of the tests is at work; waiting for it"
        flock -w 900 "$lock" || die "another run of the tests has held /run/lock/mrzone-tests.lock for 15 minutes"
    }
    pools_back || true
    trap 'pools_back || true' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
fi

if [ "$mode" = soak ]; then
    "$folder/apps/vm/mrz-vm" fetch || say "there are no kernels for the guests, so their tests fail"
    "$folder/apps/vm/mrz-vm" fetch --qemu --kernel 6.1 || say "there is no QEMU for adapters, so their tests fail"
fi
if [ "$mode" = lab ]; then
    # Said apart, and not in the time of a test. All at once, since a mirror has headers for its newest kernel only.
    "$folder/apps/vm/mrz-vm" fetch --headers || say "there are no kernels for the guests, so their tests fail"
    "$folder/apps/vm/mrz-vm" fetch --qemu --kernel 6.1 || say "there is no QEMU for adapters, so their tests fail"
    "$folder/apps/vm/mrz-vm" fetch --siw --kernel 6.1 || say "there is no siw driver for guests, so its test fails"
fi
for suite in "${suites[@]}"; do
    if [ "$suite" = unit ]; then
        run_suite unit "$(nproc)"
        continue
    fi
    note_pools
    before=$(pages_in_use)
    run_suite "$suite" 1
    after=$(pages_in_use)
    if [ "$after" -gt "$before" ]; then
        say "hugepages in use were $before before the $suite tests and are $after after them"
        failed=1
    fi
done
if [ "$mode" != unit ]; then
    pools_back || failed=1
fi
python3 "$root/tests/summary.py" "$folder" "${suites[@]}" || failed=1
exit "$failed"
