#!/bin/bash
# Submits one run as a chain of jobs. Each job waits for the previous one, however it ends. For clusters that do not requeue and
# whose time limit is shorter than the run.
#
#   chain.sh 5 pretrain.sbatch            five jobs; options for sbatch may follow
#   sgoodput show --run pretrain-7b       all of them as one run
set -euo pipefail
if [ $# -lt 2 ] || ! [ "$1" -gt 0 ] 2>/dev/null; then
    echo "usage: chain.sh COUNT SCRIPT [sbatch options]" >&2
    exit 2
fi
count=$1 script=$2
shift 2
export GOODPUT_RUN=${GOODPUT_RUN:-pretrain-7b}

before=
for ((i = 1; i <= count; ++i)); do
    before=$(sbatch --parsable ${before:+--dependency=afterany:"$before"} "$@" "$script")
    before=${before%%;*}
    echo "job $before, $i of $count"
done
