#!/bin/sh
# Write everything that fairq needs from an HTCondor pool into one archive; import it with: fairq import ARCHIVE
# Run it on a machine of the pool where condor_status and condor_userprio work, preferably the central manager.
# Usage: sh fairq-dump.sh [ARCHIVE]          (default: pool.tar.gz)
set -u
archive=${1:-pool.tar.gz}
folder=$(mktemp -d "${TMPDIR:-/tmp}/fairq-dump.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
: >"$folder/problems"

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

last_update() {
    sed -n 's/^LastUpdate = //p' "$folder/accounting.long" 2>/dev/null
}

tries=0
while :; do
    ask "the accountant" accounting.long condor_userprio -long -allusers
    before=$(last_update)
    ask "the collector" slots.json condor_status -sort no -json
    ask "the schedds" jobs.json condor_q -global -allusers -json
    date +%s >"$folder/time"
    [ -n "$before" ] || break
    ask "the accountant" accounting.long condor_userprio -long -allusers
    tries=$((tries + 1))
    # The negotiator may have run a cycle meanwhile: slots, jobs and accounting must be from the same moment.
    if [ "$(last_update)" = "$before" ] || [ "$tries" -ge 3 ]; then break; fi
done
ask "the configuration" pool.conf condor_config_val -dump
rm -f "$folder/errors"
sort -u -o "$folder/problems" "$folder/problems"
cat "$folder/problems" >&2

if [ ! -e "$folder/slots.json" ] && [ ! -e "$folder/jobs.json" ] && [ ! -e "$folder/accounting.long" ]; then
    echo "nothing was written: the collector, the schedds and the accountant did not answer" >&2
    exit 1
fi
(cd "$folder" && tar -cf - -- *) | gzip >"$archive" || exit 1
echo "wrote $archive; import it with: fairq import $archive" >&2
