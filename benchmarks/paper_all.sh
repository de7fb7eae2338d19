#!/usr/bin/env bash
# Measures all that docs/results.md shows, in the shortest time on one machine with a GPU, and merges it.
#
#     bash benchmarks/paper_all.sh OUT PROCESSES SEEDS ROOT...
#     bash benchmarks/paper_all.sh table 16 3 ../shared/data/xlsa17 ../shared/data/xlsa17_resnet50
#
# LANES (default: 3 of 8 PROCESSES) commands at a time train on the GPU, one method and dataset each; the other processes
# take the methods of the CPU, whole units, the slowest first. Curves and the first seed of all methods come before the
# other seeds. LIMIT=540 stops everything after so many seconds and merges what is there; the same command goes on.
# DEVICE=cpu does without a GPU, PYTHON names the interpreter, DATASETS (default: CUB AWA1) what to measure.
set -euo pipefail
out=$1 processes=$2 seeds=$3
shift 3
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
export OUT=$out PYTHON=${PYTHON:-python} DEVICE=${DEVICE:-cuda}
datasets=${DATASETS:-CUB AWA1} limit=${LIMIT:-0}
lanes=${LANES:-$((processes * 3 / 8 > 0 ? processes * 3 / 8 : 1))}
mkdir -p "$out"

listed() { # methods of the CPU ("in") or of the GPU ("not in"), the slowest first
    "$PYTHON" -c "
from zskl.paper import results as m
print(*(name for name in m.sort_slowest_first(m.ALL) if '$DEVICE' == 'cpu' or name $1 m.ON_CPU))"
}

lane() { # PART SEEDS METHOD DATASET ROOT, one at a time for a folder
    folder=$OUT/$(basename "$5")-$4-$3
    flock "$folder.lock" "$PYTHON" -m zskl paper "$1" --seeds "$2" --method "$3" --dataset "$4" --root "$5" \
        --device "$DEVICE" --workers 1 --out "$folder" >"$folder-$1.log" 2>&1 || echo "see $folder-$1.log"
}
export -f lane

lines() { # PART SEEDS
    for method in $(listed "not in"); do
        for root in "${roots[@]}"; do
            for dataset in $datasets; do
                for folder in "$root/$dataset" "$root/data/$dataset"; do
                    [ ! -f "$folder/att_splits.mat" ] || echo "$1 $2 $method $dataset $root"
                done
            done
        done
    done
}

start=$SECONDS
roots=("$@")
here=()
for root in "$@"; do here+=(--root "$root"); done
for dataset in $datasets; do here+=(--dataset "$dataset"); done
alone=()
for method in $(listed "in"); do alone+=(--method "$method"); done
part=gzsl
if [ "$DEVICE" = cpu ]; then
    lanes=0 part=all
else
    { lines all 1; [ "$seeds" -lt 2 ] || lines gzsl "$seeds"; } |
        timeout "$limit" xargs -P "$lanes" -L 1 bash -c 'lane "$@"' lane &
fi
timeout "$limit" "$PYTHON" -m zskl paper $part "${here[@]}" "${alone[@]}" --seeds "$seeds" \
    --workers $((processes - lanes > 0 ? processes - lanes : 1)) --out "$out/cpu" >"$out/cpu.log" 2>&1 || echo "see $out/cpu.log"
wait || true
measured=$((SECONDS - start))
merges=()
for folder in "$out"/*/; do
    [ ! -f "$folder/records.jsonl" ] || [ "$folder" = "$out/all/" ] || merges+=(--merge "$folder")
done
"$PYTHON" -m zskl paper all --offline --compact --seeds "$seeds" "${merges[@]}" --out "$out/all" | tail -n +2
echo "measured in $measured s, $((SECONDS - start)) s with the tables: $out/all"
