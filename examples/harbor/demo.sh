#!/usr/bin/env bash
# The main job end to end: create a graph, load it, ask it, branch and merge, read its past, and keep it healthy.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMNIGRAPH_STORE="$work/harbor.omni"

bold=""; plain=""
if [ -t 1 ]; then bold=$'\033[1m'; plain=$'\033[0m'; fi
say() { printf '\n%s# %s%s\n' "$bold" "$*" "$plain"; }
step() {
    printf '\n%s$ %s%s\n' "$bold" "$*" "$plain" | sed "s|$work/||g"
    "$@" 2>&1 | sed "s|$work/||g"
}

say "A graph has a schema, and a load is one commit over all of its tables"
step omnigraph init --schema harbor.pg "$OMNIGRAPH_STORE"
step omnigraph load --data crew.jsonl --mode append --as act-ana

say "A load with mistakes changes nothing and names each of them"
step omnigraph load --data mistakes.jsonl --mode append || true

say "Ask it: who serves on which ship, and how old the crews are"
step omnigraph query -e 'match { $s: Sailor  $s servesOn $h } return { $h.title, count($s) as crew, avg($s.age) as mean_age } order { crew desc }'

say "Try something on a branch, and merge it"
step omnigraph branch create review
step omnigraph load --data promotions.jsonl --mode merge --branch review --as act-bo
step omnigraph branch diff review
step omnigraph branch merge review --delete-branch --as act-ana

say "Everything that was is still there: the crew now, and before the promotions"
step omnigraph commit list
step omnigraph query -e 'match { $s: Sailor } return { $s.name, $s.rank } order { $s.name }'
step omnigraph query -e 'match { $s: Sailor } return { $s.name, $s.rank } order { $s.name }' --snapshot main~1

say "Many small writes leave many small files and no indexes; health says so, optimize mends it, next to live writers"
for day in 1 2 3 4; do
    printf '{"type": "Sailor", "data": {"name": "Cadet %d", "rank": "deckhand"}}\n' $day \
        | omnigraph --quiet load --data - --mode append >/dev/null
done
step omnigraph health || true
step omnigraph optimize

say "Somebody deletes a row behind the graph's back; repair shows what it would change, and takes it back"
sailors=$(ls -d "$OMNIGRAPH_STORE"/nodes/* | head -n 1)
python - "$sailors" <<'PYTHON'
import sys, lance
table = lance.dataset(sys.argv[1])
table.delete("name = 'Cadet 4'")
lance.dataset(sys.argv[1]).optimize.compact_files()
PYTHON
step omnigraph repair --diff
step omnigraph repair --discard --confirm

say "Old versions go when you say so, and only those that nobody needs"
step omnigraph cleanup --keep 3
step omnigraph cleanup --keep 3 --confirm
step omnigraph health
