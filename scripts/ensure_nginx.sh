#!/bin/sh
# nginx and openssl, with which the proxy of the documentation is tried: from Debian's packages, if they are not here yet.
set -eu
PATH="$PATH:/usr/sbin"
command -v nginx >/dev/null 2>&1 && command -v openssl >/dev/null 2>&1 && exit 0
sudo=""
[ "$(id -u)" = 0 ] || sudo="sudo"
command -v apt-get >/dev/null 2>&1 || {
    echo "The tests of the proxy need nginx and openssl on the PATH; install them with your package manager." >&2
    exit 1
}
$sudo apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nginx openssl >/dev/null
