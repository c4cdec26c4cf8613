# SPDX-License-Identifier: BSD-3-Clause
"""Fetches Debian packages from the mirror that this machine's apt uses, by an apt configuration of its own: neither
the machine's packages nor its lists change, and no root is needed."""

import os
import pathlib
import re

from mrz_vm.outcome import Status, missing
from mrz_vm.tools import output_of, tool

KEYRING = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")
CONFIGURATION = """
Dir::State "{folder}/state";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "/dev/null";
APT::Architecture "amd64";
APT::Architectures "amd64";
Acquire::Languages "none";
Acquire::Retries "3";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
"""


def run(command, what, **options):
    """Nothing that fails in here is a mistake of the user's: the machine cannot have the package."""
    return output_of(command, what, Status.MISSING, text=True, **options)


def mirror(targets, codename):
    """Where Debian's main archive is, by what `apt-get indextargets` says: lines of "RELEASE|CODENAME|URI"."""
    for line in targets.splitlines():
        release, known_as, uri = line.split("|", 2)
        if codename in (release, known_as):
            return uri
    return None


def codename_of(os_release):
    """Of the Debian release that a machine has, by its /etc/os-release."""
    match = re.search(r'^VERSION_CODENAME="?(\w+)"?$', os_release, re.MULTILINE)
    return match[1] if match else None


class Packages:
    """Packages of some suites. `folder` is where their lists and files go; it is the caller's to remove."""

    def __init__(self, folder, suites):
        self.folder = pathlib.Path(folder)
        self._apt_get = tool("apt-get", "apt")
        self._configure(suites)

    def _configure(self, suites):
        codename = codename_of(pathlib.Path("/etc/os-release").read_text(encoding="utf-8"))
        listed = run([self._apt_get, "indextargets", "--format", "$(RELEASE)|$(CODENAME)|$(REPO_URI)",
                      "Created-By: Packages"], "asking apt for this machine's package sources")
        main, security = mirror(listed, codename), mirror(listed, f"{codename}-security")
        if main is None:
            raise missing(f"this machine's apt has no source for Debian's {codename}, from whose mirror kernels come")
        if not KEYRING.exists():
            raise missing(f"there is no {KEYRING} (Debian: apt-get install debian-archive-keyring)")
        places = [(suite, security if suite.endswith("-security") else main) for suite in suites]
        (self.folder / "sources.list").write_text("".join(
            f"deb [signed-by={KEYRING}] {uri} {suite} main\n" for suite, uri in places if uri is not None),
            encoding="utf-8")
        for name in ("state/lists/partial", "cache/archives/partial", "packages"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").touch()
        configuration = CONFIGURATION.format(folder=self.folder)
        if os.geteuid() == 0:
            # apt would drop its rights, and then not get into a folder that is the user's own.
            configuration += 'APT::Sandbox::User "root";\n'
        (self.folder / "apt.conf").write_text(configuration, encoding="utf-8")
        self._apt("update", "--error-on=any", what="fetching the lists of packages")

    def _apt(self, *arguments, what, program=None, **options):
        return run([program or self._apt_get, "-c", str(self.folder / "apt.conf"), "-q", *arguments], what, **options)

    def dependency(self, package, pattern):
        """The package that `package` depends on whose name matches."""
        shown = self._apt("depends", package, program=tool("apt-cache", "apt"),
                          what=f"asking apt for {package}")
        found = re.search(rf"Depends: ({pattern})\s*$", shown, re.MULTILINE)
        if not found:
            raise missing(f"{package} depends on no package like {pattern}")
        return found[1]

    def download(self, package, version=None):
        """The .deb file of a package, whose checksums apt has compared; the newest, or of one version."""
        place = self.folder / "packages" / package
        place.mkdir()
        self._apt("download", package if version is None else f"{package}={version}", cwd=place,
                  what=f"fetching {package}")
        return next(place.glob("*.deb"))

    def download_with_all(self, package, suite):
        """The .deb files of a package as `suite` has it and of all that it needs, down to the C library, since nothing
        counts as installed."""
        self._apt("install", "--download-only", "--yes", "--no-install-recommends", "--target-release", suite, package,
                  what=f"fetching {package} and what it needs")
        return sorted((self.folder / "cache/archives").glob("*.deb"))


def unpack(package, folder):
    run([tool("dpkg-deb", "dpkg"), "--extract", str(package), str(folder)], f"unpacking {package.name}")


def version_of(package):
    return run([tool("dpkg-deb", "dpkg"), "--field", str(package), "Version"], f"reading {package.name}").strip()
