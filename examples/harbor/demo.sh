#!/usr/bin/env bash
# The main job end to end: create a graph, load it, change it, look at its history, read the past, export it.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMNIGRAPH_STORE="$work/harbor.omni"

bold=""; plain=""
if [ -t 1 ]; then bold=$'\033[1m'; plain=$'\033[0m'; fi
step() {
    printf '\n%s$ %s%s\n' "$bold" "$*" "$plain" | sed "s|$work/||g"
    "$@" 2>&1 | sed "s|$work/||g"
}

step omnigraph init --schema harbor.pg "$OMNIGRAPH_STORE"
step omnigraph load --data crew.jsonl --mode append --as act-ana
step omnigraph load --data promotions.jsonl --mode merge --as act-bo
step omnigraph load --data promotions.jsonl --mode merge
printf '\n# A load with mistakes changes nothing and names each of them:\n'
step omnigraph load --data mistakes.jsonl --mode append || true
step omnigraph snapshot
step omnigraph commit list
printf '\n# The crew as it is, and as it was before the promotions:\n'
step omnigraph export --type Sailor
step omnigraph export --type Sailor --snapshot main~1
