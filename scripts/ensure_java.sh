#!/bin/sh
# Spark needs Java 17 or newer. Install it through the package manager when it is missing; say what to do otherwise.
set -eu

java_major() {
    command -v java >/dev/null 2>&1 || return 1
    java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1
}

major=$(java_major || true)
if [ -n "${major}" ] && [ "${major}" -ge 17 ]; then
    exit 0
fi

echo "Java 17 or newer was not found (found: ${major:-none}); installing it." >&2
if ! command -v apt-get >/dev/null 2>&1; then
    echo "No apt-get here: install a Java 17 runtime yourself. Only the Spark engine needs it." >&2
    exit 0
fi
as_root=""
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "Not root and no sudo: install openjdk-17-jre-headless yourself. Only the Spark engine needs it." >&2
        exit 0
    fi
    as_root="sudo"
fi
${as_root} apt-get update -qq
${as_root} apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless
