# SPDX-License-Identifier: BSD-3-Clause
import pathlib
import subprocess
import tempfile
import unittest

from mrz_vm import job
from mrz_vm.guest import Guest
from mrz_vm.quantities import cable, hugepages

AWKWARD = "it's \"quoted\"\n$HOME `id` \\ *"


class Jobs(unittest.TestCase):
    def test_the_program_gets_words_folder_and_environment_as_they_were_given(self):
        with tempfile.TemporaryDirectory(suffix=" it's") as folder:
            script = job.program(job.Job(("printf", "%s|", "-n", AWKWARD, ""), pathlib.Path(folder)))
            done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout, f"-n|{AWKWARD}||")
            script = job.program(job.Job(("sh", "-c", 'pwd; echo "$A"; env'), pathlib.Path(folder), {"A": AWKWARD}))
            done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True,
                                  env={"OF_THE_HOST": "1", "PATH": job.PATH})
            self.assertTrue(done.stdout.startswith(f"{folder}\n{AWKWARD}\n"), done.stdout)
            self.assertNotIn("OF_THE_HOST", done.stdout)

    def test_the_set_up_is_in_order_and_quoted(self):
        guest = Guest(hugepages=hugepages("2M=8@1,1G=2"), modules=("vfio-pci",), rdma="siw", netns=True, adapters=2,
                      addresses=((1, "10.1.0.1"),), cable=cable("/tmp/c:2"))
        wanted = job.Job(("true",), pathlib.Path("/"), outputs=(pathlib.Path("/tmp/it's"),))
        text = job.set_up(guest, wanted, "/cache of/modules", "/cache of/siw.ko")
        spy = ('pages() { echo pages "$@"; }; share() { echo share "$@"; }; load() { echo load "$@"; }\n'
               "set_up_siw() { echo siw; }; set_up_namespaces() { echo namespaces; }\n"
               'set_up_adapters() { echo adapters "$1"; }; set_up_address() { echo address "$@"; }; set_up_cable() { echo cable "$@"; }\n')
        done = subprocess.run(["sh", "-ec", spy + text + 'set_up_job; echo "$modules"'], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.splitlines(), [
            "pages /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages 8",
            "pages /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages 2",
            "share output0 /tmp/it's", "load vfio-pci", "load /cache of/siw.ko", "siw", "adapters 2",
            "address mlx5_1 10.1.0.1", "cable 52:54:00:00:02:02 10.2.0.2", "namespaces", "/cache of/modules"])
