# SPDX-License-Identifier: BSD-3-Clause
"""mrz-vm: boots a stock Debian kernel in QEMU and runs a program of this machine in it. See mrz-vm(1)."""
