"""The completion for bash."""

from __future__ import annotations

from fairq.cli.manual.walk import Documented, global_options
from fairq.cli.manual.words import CompletedCommand, completed_commands

_HEAD = """\
# bash completion for fairq; written by python -m fairq.cli.manual, do not edit

# Sets children, options, values (option=kind of its value) and arguments (their kinds) for a command's name.
_fairq_place() {
    children= options= values= arguments=()
    case $1 in
"""

_TAIL = r"""    esac
}

_fairq() {
    local line=${COMP_LINE:0:COMP_POINT} children options values
    local -a words arguments
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    local current=${words[-1]} previous=${words[-2]} place="" expected="" state=() i word count=0 last=""
    _fairq_place ""
    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        word=${words[i]}
        if [[ $word == -- ]]; then
            COMPREPLY=($(compgen -o default -- "$current"))
            return
        elif [[ " $values " == *" $word="* ]]; then
            [[ $word == --state ]] && state=(--state "${words[i + 1]}")
            ((i++))
        elif [[ $word == --state=* ]]; then
            state=(--state "${word#*=}")
        elif [[ $word != -* && " $children " == *" $word "* ]]; then
            place="${place:+$place }$word"
            _fairq_place "$place"
        elif [[ $word != -* ]]; then
            last=$word
            ((count++))
        fi
    done
    if [[ " $values " == *" $previous="* ]]; then
        expected=${values##*"$previous="}
        expected=${expected%% *}
    elif [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
        return
    elif [[ -n $children ]]; then
        COMPREPLY=($(compgen -W "$children" -- "$current"))
        return
    else
        expected=${arguments[count]:-}
        [[ -z $expected && ${#arguments[@]} -gt 0 && ${arguments[-1]} == *... ]] && expected=${arguments[-1]}
        expected=${expected%...}
    fi
    case $expected in
        "" | none) COMPREPLY=() ;;
        ,:*) # a list by commas: its last word
            local before=${current%"${current##*,}"}
            COMPREPLY=($(compgen -P "$before" -W "${expected//[:,]/ }" -- "${current##*,}"))
            ;;
        :*) COMPREPLY=($(compgen -W "${expected//[:,]/ }" -- "$current")) ;;
        file)
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            ;;
        *)
            compopt -o nosort
            mapfile -t COMPREPLY < <(fairq _complete "$expected" "$current" "$last" "${state[@]}" 2>/dev/null)
            # Readline takes what stands before a word break, as the @ of a submitter, for done.
            local done=${current%"${current##*[@:=]}"}
            COMPREPLY=("${COMPREPLY[@]#"$done"}")
            ;;
    esac
}

complete -F _fairq fairq
"""


def bash_script(commands: list[Documented]) -> str:
    """Return the script that bash-completion loads as ``fairq``."""
    return _HEAD + "".join(map(_case, completed_commands(commands, global_options()))) + _TAIL


def _case(command: CompletedCommand) -> str:
    lines = [f'        "{command.name}")']
    if command.children:
        lines.append(f'            children="{" ".join(name for name, _ in command.children)}"')
    names = [name for option in command.options for name in option.spellings]
    lines.append(f'            options="{" ".join(names)}"')
    values = [
        f"{name}={command.kind(option) or 'none'}"
        for option in command.options
        if option.metavar
        for name in option.spellings
    ]
    lines.append(f'            values="{" ".join(values)}"')
    if command.arguments:
        lines.append(f"            arguments=({' '.join(command.arguments)})")
    return "\n".join([*lines, "            ;;", ""])
