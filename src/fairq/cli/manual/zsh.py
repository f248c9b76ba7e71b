"""The completion for zsh."""

from __future__ import annotations

from collections.abc import Iterable

from fairq.cli.manual.walk import Documented, global_options
from fairq.cli.manual.words import CompletedCommand, completed_commands

_HEAD = """\
#compdef fairq
# zsh completion for fairq; written by python -m fairq.cli.manual, do not edit

# Sets children, options (each name:meaning), values (kind by option) and arguments (their kinds) for a command's name.
_fairq_place() {
    children=() options=() values=() arguments=()
    case $1 in
"""

_TAIL = r"""    esac
}

_fairq_value() {
    case $1 in
        (''|none) return 1 ;;
        (file) _files ;;
        (,:*) compset -P '*,'; compadd -S '' -- ${(s:,:)1#,:} ;;
        (:*) compadd -- ${(s:,:)1#:} ;;
        (*) compadd -V names -- ${(f)"$(fairq _complete $1 "$PREFIX" "$last" $state 2>/dev/null)"} ;;
    esac
}

_fairq() {
    local -a children options state arguments
    local -A values
    local place= word last= i
    local -i count=0
    _fairq_place ''
    for ((i = 2; i < CURRENT; i++)); do
        word=${(Q)words[i]}
        if [[ $word == -- ]]; then
            _files
            return
        elif (( ${+values[$word]} )); then
            [[ $word == --state ]] && state=(--state ${(Q)words[i + 1]})
            (( i + 1 == CURRENT )) && { _fairq_value $values[$word]; return }
            (( i++ ))
        elif [[ $word == --state=* ]]; then
            state=(--state ${word#*=})
        elif [[ $word != -* && -n ${(M)children:#$word:*} ]]; then
            place="${place:+$place }$word"
            _fairq_place $place
        elif [[ $word != -* ]]; then
            last=$word
            (( count++ ))
        fi
    done
    if [[ $PREFIX == -* ]]; then
        _describe -o option options
    elif (( $#children )); then
        _describe command children
    else
        word=${arguments[count + 1]}
        [[ -z $word && ${arguments[-1]} == *... ]] && word=${arguments[-1]}
        _fairq_value ${word%...}
    fi
}

if [[ $funcstack[1] == _fairq ]]; then
    _fairq "$@"
else
    compdef _fairq fairq
fi
"""


def zsh_script(commands: list[Documented]) -> str:
    """Return the script that zsh finds as ``_fairq`` in its ``fpath``."""
    return _HEAD + "".join(map(_case, completed_commands(commands, global_options()))) + _TAIL


def _case(command: CompletedCommand) -> str:
    lines = [f"        ('{command.name}')"]
    if command.children:
        lines += _array("children", command.children)
    lines += _array("options", [(name, option.help) for option in command.options for name in option.spellings])
    pairs = [
        f"{name} {command.kind(option) or 'none'}"
        for option in command.options
        if option.metavar
        for name in option.spellings
    ]
    lines.append(f"            values=({' '.join(pairs)})")
    if command.arguments:
        lines.append(f"            arguments=({' '.join(command.arguments)})")
    return "\n".join([*lines, "            ;;", ""])


def _array(name: str, entries: Iterable[tuple[str, str]]) -> list[str]:
    quoted = [_quoted(f"{word}:{meaning}") for word, meaning in entries]
    return [f"            {name}=(", *(f"                {entry}" for entry in quoted), "            )"]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
