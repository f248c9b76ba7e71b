#!/bin/sh
# Write everything that fairq needs from a Slurm site into one archive; import it with: fairq import --slurm ARCHIVE
# Run it where squeue and sacctmgr work, as somebody who sees the jobs of all.
# Usage: sh fairq-slurm-dump.sh [ARCHIVE [SINCE]]     (default: ARCHIVE, records of the last 30 days)
set -u
archive=${1:-@ARCHIVE@}
since=${2:-now-30days}
folder=$(mktemp -d "${TMPDIR:-/tmp}/fairq-slurm.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
: >"$folder/problems"
# Times in UTC and in full, no abbreviated array.
export TZ=UTC SLURM_BITSTR_LEN=0
unset SLURM_TIME_FORMAT SQUEUE_FORMAT SQUEUE_FORMAT2 SACCT_FORMAT SSHARE_FORMAT

# ask WHAT FILE COMMAND...: write the output of COMMAND to FILE; if COMMAND fails, note the problem, without FILE.
ask() {
    what=$1 file=$2
    shift 2
    if "$@" >"$folder/$file" 2>"$folder/errors"; then
        return 0
    fi
    rm -f "$folder/$file"
    echo "$what cannot be queried: $(tr '\n' ' ' <"$folder/errors")" >>"$folder/problems"
    return 1
}

ask "the configuration" config.txt scontrol show config
date +%s >"$folder/time"
ask "the partitions" partitions.txt scontrol -a -o show partition
ask "the shares" shares.txt sshare -a -l -P
ask "the nodes" nodes.txt scontrol -a -o show node
ask "the queue" queue.json squeue -a --json || ask "the jobs" jobs.txt scontrol -a -o show job
cluster=$(sed -n 's/^ClusterName *= *//p' "$folder/config.txt" 2>/dev/null)
ask "the accounts" output sacctmgr -i dump "$cluster" "file=$folder/accounts.txt"
ask "the records" sacct.txt sacct -a -X -P -S "$since" \
    -o "JobID,User,Account,Partition,QOS,State,Submit,Start,End,ElapsedRaw,AllocTRES,ReqTRES,TimelimitRaw"
rm -f "$folder/errors" "$folder/output"
cat "$folder/problems" >&2

if [ ! -e "$folder/nodes.txt" ] && [ ! -e "$folder/queue.json" ] && [ ! -e "$folder/jobs.txt" ]; then
    echo "nothing was written: slurmctld did not answer" >&2
    exit 1
fi
(cd "$folder" && tar -cf - -- *) | gzip >"$archive" || exit 1
echo "wrote $archive; import it with: fairq import --slurm $archive" >&2
