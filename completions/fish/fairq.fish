# fish completion for fairq; written by python -m fairq.cli.manual, do not edit

# The names that fairq knows, of the state file that the command line names.
function __fairq_names
    set -l words (commandline -opc)
    set -l state
    for i in (seq (count $words))
        switch $words[$i]
            case --state
                set -l next (math $i + 1)
                set -q words[$next]; and set state --state $words[$next]
            case '--state=*'
                set state --state (string replace -- --state= '' $words[$i])
        end
    end
    fairq _complete $argv[1] (commandline -ct) $state 2>/dev/null
end

# Whether the command line is at the command of this name; more words may not follow if the last one is "end".
function __fairq_at
    set -l found
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case --state --config
                set skip 1
            case '-*'
            case '*'
                set -a found $word
        end
    end
    if test "$argv[-1]" = end
        test "$found" = "$argv[1..-2]"
    else
        set -l size (count $argv)
        test (count $found) -ge $size; and test "$found[1..$size]" = "$argv"
    end
end

complete -c fairq -f
complete -c fairq -l state -rF -d 'The state file (else $FAIRQ_STATE, else your own).'
complete -c fairq -l config -rF -d 'The settings file, read alone (else $FAIRQ_CONFIG).'
complete -c fairq -s q -l quiet -d 'Print data and errors only.'
complete -c fairq -s v -l verbose -d 'Tell more on stderr; may be repeated.'
complete -c fairq -l version -d 'Show the version and exit.'
complete -c fairq -s h -l help -d 'Show this message and exit.'
complete -c fairq -n '__fairq_at end' -a negotiate -d 'Run one negotiation cycle: match idle jobs with slots.'
complete -c fairq -n '__fairq_at end' -a userprio -d 'Show and change priorities and usage.'
complete -c fairq -n '__fairq_at end' -a import -d 'Bring a pool in: HTCondor\'s dumps, or a whole state.'
complete -c fairq -n '__fairq_at end' -a export -d 'Write the whole state as one JSON document, or a part of it as HTCondor\'s own dumps.'
complete -c fairq -n '__fairq_at end' -a state -d 'The state file: where it is, whether it is sound, copies, and what was changed.'
complete -c fairq -n '__fairq_at negotiate' -l now -x -d 'Use TIME instead of the clock: seconds since 1970, or ISO 8601 (local time without a zone).'
complete -c fairq -n '__fairq_at negotiate' -l dry-run -d 'Decide and show everything, store nothing.'
complete -c fairq -n '__fairq_at negotiate' -l json -d 'Print one JSON document, numbers at full precision.'
complete -c fairq -n '__fairq_at negotiate' -l ndjson -d 'Print one JSON object per line.'
complete -c fairq -n '__fairq_at negotiate' -l csv -d 'Print comma-separated values.'
complete -c fairq -n '__fairq_at negotiate' -l tsv -d 'Print tab-separated values.'
complete -c fairq -n '__fairq_at negotiate' -l af -x -d 'Print these attributes or expressions only, as HTCondor\'s autoformat does; --af:jlhVr,tng.'
complete -c fairq -n '__fairq_at negotiate' -l no-header -d 'Leave the headings out.'
complete -c fairq -n '__fairq_at negotiate' -l constraint -x -d 'Show only what satisfies this ClassAd expression; may be repeated, all must be true.'
complete -c fairq -n '__fairq_at userprio' -l all -d 'Show all columns.'
complete -c fairq -n '__fairq_at userprio' -l most -d 'Show the most useful columns (the default).'
complete -c fairq -n '__fairq_at userprio' -l priority -d 'Show priorities and factors.'
complete -c fairq -n '__fairq_at userprio' -l usage -d 'Show usage and its times.'
complete -c fairq -n '__fairq_at userprio' -s q -l quotas -d 'Show the quotas of the groups.'
complete -c fairq -n '__fairq_at userprio' -l surplus -d 'Show who may use surplus.'
complete -c fairq -n '__fairq_at userprio' -l sortkey -d 'Show the groups\' sort keys.'
complete -c fairq -n '__fairq_at userprio' -l order -d 'Show the groups\' order in the table.'
complete -c fairq -n '__fairq_at userprio' -l groupid -d 'Show the groups\' numbers.'
complete -c fairq -n '__fairq_at userprio' -s h -l hierarchical -d 'Show users below their groups.'
complete -c fairq -n '__fairq_at userprio' -l flat -d 'Show users and groups in one list.'
complete -c fairq -n '__fairq_at userprio' -l grouporder -d 'Show the groups first, then the users.'
complete -c fairq -n '__fairq_at userprio' -l grouprollup -d 'Let a group\'s usage be that of all below it.'
complete -c fairq -n '__fairq_at userprio' -l allusers -d 'Show everybody, not just who was active lately.'
complete -c fairq -n '__fairq_at userprio' -l activefrom -x -d 'Show who used something since that day.'
complete -c fairq -n '__fairq_at userprio' -l getreslist -x -a '(__fairq_names submitter)' -d 'Show the slots NAME has in use.'
complete -c fairq -n '__fairq_at userprio' -l long -d 'Show whole ads, attribute by attribute.'
complete -c fairq -n '__fairq_at userprio' -l classic -d 'Lay the table out as HTCondor 6.8 to 7.4 did.'
complete -c fairq -n '__fairq_at userprio' -l plain -d 'Show condor_userprio\'s own text on a terminal too.'
complete -c fairq -n '__fairq_at userprio' -l setprio -x -a '(__fairq_names submitter)' -d 'Set the real priority.'
complete -c fairq -n '__fairq_at userprio' -l setfactor -x -a '(__fairq_names submitter)' -d 'Set the priority factor, 1 or more.'
complete -c fairq -n '__fairq_at userprio' -l setfloor -x -a '(__fairq_names submitter)' -d 'Set the floor, in slot weight; 0: none.'
complete -c fairq -n '__fairq_at userprio' -l setceiling -x -a '(__fairq_names submitter)' -d 'Set the ceiling, in slot weight; -1: none.'
complete -c fairq -n '__fairq_at userprio' -l duration -x -d 'Set factor, floor or ceiling for so long only (a lease).'
complete -c fairq -n '__fairq_at userprio' -l cancelceilinglease -x -a '(__fairq_names submitter)' -d 'End a ceiling\'s lease now.'
complete -c fairq -n '__fairq_at userprio' -l cancelfloorlease -x -a '(__fairq_names submitter)' -d 'End a floor\'s lease now.'
complete -c fairq -n '__fairq_at userprio' -l cancelfactorlease -x -a '(__fairq_names submitter)' -d 'End a factor\'s lease now.'
complete -c fairq -n '__fairq_at userprio' -l setaccum -x -a '(__fairq_names submitter)' -d 'Set the accumulated usage, weighted.'
complete -c fairq -n '__fairq_at userprio' -l setbegin -x -a '(__fairq_names submitter)' -d 'Set the time of the first use.'
complete -c fairq -n '__fairq_at userprio' -l setlast -x -a '(__fairq_names submitter)' -d 'Set the time of the last use.'
complete -c fairq -n '__fairq_at userprio' -l resetusage -x -a '(__fairq_names submitter)' -d 'Forget the accumulated usage of NAME.'
complete -c fairq -n '__fairq_at userprio' -l resetall -d 'Forget everybody\'s accumulated usage.'
complete -c fairq -n '__fairq_at userprio' -l delete -x -a '(__fairq_names submitter)' -d 'Delete the record of NAME.'
complete -c fairq -n '__fairq_at userprio' -l force -d 'Delete it though its jobs hold slots.'
complete -c fairq -n '__fairq_at userprio' -l prune -x -d 'Delete the records of all who used nothing for AGE, as 90d.'
complete -c fairq -n '__fairq_at userprio' -l now -x -d 'Use TIME instead of the clock: seconds since 1970, or ISO 8601 (local time without a zone).'
complete -c fairq -n '__fairq_at userprio' -l dry-run -d 'Decide and show everything, store nothing.'
complete -c fairq -n '__fairq_at userprio' -l json -d 'Print one JSON document, numbers at full precision.'
complete -c fairq -n '__fairq_at userprio' -l ndjson -d 'Print one JSON object per line.'
complete -c fairq -n '__fairq_at userprio' -l csv -d 'Print comma-separated values.'
complete -c fairq -n '__fairq_at userprio' -l tsv -d 'Print tab-separated values.'
complete -c fairq -n '__fairq_at userprio' -l af -x -d 'Print these attributes or expressions only, as HTCondor\'s autoformat does; --af:jlhVr,tng.'
complete -c fairq -n '__fairq_at userprio' -l no-header -d 'Leave the headings out.'
complete -c fairq -n '__fairq_at userprio' -l constraint -x -d 'Show only what satisfies this ClassAd expression; may be repeated, all must be true.'
complete -c fairq -n '__fairq_at userprio' -l quiet -d 'Print data and errors only.'
complete -c fairq -n '__fairq_at userprio' -l help -d 'Show this message and exit.'
complete -c fairq -n '__fairq_at userprio' -a '(__fairq_names submitter)'
complete -c fairq -n '__fairq_at import' -l slots -rF -d 'Slot ads, which replace the pool\'s slots; - is stdin.'
complete -c fairq -n '__fairq_at import' -l jobs -rF -d 'Job ads, which replace the queue; - is stdin.'
complete -c fairq -n '__fairq_at import' -l accounting -rF -d 'Accounting ads, which replace the records that they name; - is stdin.'
complete -c fairq -n '__fairq_at import' -l now -x -d 'Use TIME instead of the clock: seconds since 1970, or ISO 8601 (local time without a zone).'
complete -c fairq -n '__fairq_at import' -l dry-run -d 'Decide and show everything, store nothing.'
complete -c fairq -n '__fairq_at import' -l json -d 'Print one JSON document, numbers at full precision.'
complete -c fairq -n '__fairq_at import' -l ndjson -d 'Print one JSON object per line.'
complete -c fairq -n '__fairq_at import' -l csv -d 'Print comma-separated values.'
complete -c fairq -n '__fairq_at import' -l tsv -d 'Print tab-separated values.'
complete -c fairq -n '__fairq_at import' -l af -x -d 'Print these attributes or expressions only, as HTCondor\'s autoformat does; --af:jlhVr,tng.'
complete -c fairq -n '__fairq_at import' -l no-header -d 'Leave the headings out.'
complete -c fairq -n '__fairq_at import' -l constraint -x -d 'Show only what satisfies this ClassAd expression; may be repeated, all must be true.'
complete -c fairq -n '__fairq_at import' -F
complete -c fairq -n '__fairq_at export' -l slots -d 'Write the slot ads, as condor_status.'
complete -c fairq -n '__fairq_at export' -l jobs -d 'Write the job ads, as condor_q.'
complete -c fairq -n '__fairq_at export' -l accounting -d 'Write the accounting ads, with real priorities.'
complete -c fairq -n '__fairq_at export' -l json -d 'Write JSON (so it is without this, too).'
complete -c fairq -n '__fairq_at export' -l long -d 'Write ads as \'Name = value\' lines, a blank line after each.'
complete -c fairq -n '__fairq_at export' -s o -l output -rF -d 'Write to FILE; - is stdout.'
complete -c fairq -n '__fairq_at export' -l now -x -d 'Use TIME instead of the clock: seconds since 1970, or ISO 8601 (local time without a zone).'
complete -c fairq -n '__fairq_at state end' -a path -d 'Print the path of the state file, symbolic links followed.'
complete -c fairq -n '__fairq_at state end' -a check -d 'Look for damage in the state file, and for records that contradict each other.'
complete -c fairq -n '__fairq_at state end' -a backup -d 'Copy the state to a new file while others go on working with it.'
complete -c fairq -n '__fairq_at state end' -a history -d 'Show what was changed, when, by whom and by which command; the newest change comes last.'
complete -c fairq -n '__fairq_at state path' -l json -d 'Print one JSON document, numbers at full precision.'
complete -c fairq -n '__fairq_at state path' -l ndjson -d 'Print one JSON object per line.'
complete -c fairq -n '__fairq_at state path' -l csv -d 'Print comma-separated values.'
complete -c fairq -n '__fairq_at state path' -l tsv -d 'Print tab-separated values.'
complete -c fairq -n '__fairq_at state path' -l af -x -d 'Print these attributes or expressions only, as HTCondor\'s autoformat does; --af:jlhVr,tng.'
complete -c fairq -n '__fairq_at state path' -l no-header -d 'Leave the headings out.'
complete -c fairq -n '__fairq_at state path' -l constraint -x -d 'Show only what satisfies this ClassAd expression; may be repeated, all must be true.'
complete -c fairq -n '__fairq_at state check' -l json -d 'Print one JSON document, numbers at full precision.'
complete -c fairq -n '__fairq_at state check' -l ndjson -d 'Print one JSON object per line.'
complete -c fairq -n '__fairq_at state check' -l csv -d 'Print comma-separated values.'
complete -c fairq -n '__fairq_at state check' -l tsv -d 'Print tab-separated values.'
complete -c fairq -n '__fairq_at state check' -l af -x -d 'Print these attributes or expressions only, as HTCondor\'s autoformat does; --af:jlhVr,tng.'
complete -c fairq -n '__fairq_at state check' -l no-header -d 'Leave the headings out.'
complete -c fairq -n '__fairq_at state check' -l constraint -x -d 'Show only what satisfies this ClassAd expression; may be repeated, all must be true.'
complete -c fairq -n '__fairq_at state backup' -F
complete -c fairq -n '__fairq_at state history' -l limit -x -d 'Show the last N changes; 0 shows all.'
complete -c fairq -n '__fairq_at state history' -l subject -x -a '(__fairq_names submitter)' -d 'Only what was changed of NAME.'
complete -c fairq -n '__fairq_at state history' -l user -x -a '(__fairq_names submitter)' -d 'Only what this user of the system changed.'
complete -c fairq -n '__fairq_at state history' -l json -d 'Print one JSON document, numbers at full precision.'
complete -c fairq -n '__fairq_at state history' -l ndjson -d 'Print one JSON object per line.'
complete -c fairq -n '__fairq_at state history' -l csv -d 'Print comma-separated values.'
complete -c fairq -n '__fairq_at state history' -l tsv -d 'Print tab-separated values.'
complete -c fairq -n '__fairq_at state history' -l af -x -d 'Print these attributes or expressions only, as HTCondor\'s autoformat does; --af:jlhVr,tng.'
complete -c fairq -n '__fairq_at state history' -l no-header -d 'Leave the headings out.'
complete -c fairq -n '__fairq_at state history' -l constraint -x -d 'Show only what satisfies this ClassAd expression; may be repeated, all must be true.'
