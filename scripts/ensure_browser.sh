#!/bin/sh
# Chromium and its driver, which the tests of the console need: from Debian's packages, if they are not here yet.
set -eu
command -v chromium >/dev/null 2>&1 && command -v chromedriver >/dev/null 2>&1 && exit 0
sudo=""
[ "$(id -u)" = 0 ] || sudo="sudo"
command -v apt-get >/dev/null 2>&1 || {
    echo "The tests of the console need chromium and chromedriver on the PATH; install them with your package manager." >&2
    exit 1
}
$sudo apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium chromium-driver fonts-dejavu-core >/dev/null
