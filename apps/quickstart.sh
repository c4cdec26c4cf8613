#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# From a bare Debian 12 to the main job: installs what is missing, builds for speed, runs `mrz demo`.
# Arguments go to `mrz demo`, so `--size 256M` and `--json` work here, too.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/common/setup.sh"

case ${1-} in
-h | --help)
    cat <<END
usage: sudo apps/quickstart.sh [OPTIONS OF mrz demo]

Installs what is missing, builds in build-release, and runs "mrz demo": 1 GiB as an arena and as plain DPDK's memory,
what a key over each needs, and what such keys refuse. --size 256M and --json are such options; mrz(1) has all.
END
    exit 0
    ;;
esac
need_root "$@"
install_missing "${build_packages[@]}"
build "$root/build-release" -Dbuildtype=release -- apps/mrz/mrz
say "mrz demo $*"
exec "$root/build-release/apps/mrz/mrz" demo "$@"
