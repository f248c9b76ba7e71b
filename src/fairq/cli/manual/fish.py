"""The completion for fish."""

from __future__ import annotations

from collections.abc import Iterator

from fairq.cli.manual.walk import Documented, Parameter, global_options
from fairq.cli.manual.words import Place, kind, places

_HEAD = r"""# fish completion for fairq; written by python -m fairq.cli.manual, do not edit

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
"""


def fish_script(commands: list[Documented]) -> str:
    """Return the script that fish loads for ``fairq``."""
    shared = global_options()
    known = {option.spellings for option in shared}
    lines = [_option("", option) for option in shared]
    for place in places(commands, shared):
        lines += _children(place)
        if not place.words:
            continue
        lines += [
            _option(_at(place.words), option) for option in place.options if option.spellings not in known
        ]
        if place.argument:
            lines.append(f"complete -c fairq {_at(place.words)} {_value(place.argument)}")
    return _HEAD + "\n".join(line.replace("  ", " ") for line in lines) + "\n"


def _at(words: tuple[str, ...], *more: str) -> str:
    return "-n " + _quoted(" ".join(["__fairq_at", *words, *more]))


def _children(place: Place) -> Iterator[str]:
    for name, meaning in place.children:
        yield f"complete -c fairq {_at(place.words, 'end')} -a {name} -d {_quoted(meaning)}"


def _option(condition: str, option: Parameter) -> str:
    words = ["complete -c fairq", condition]
    for name in option.spellings:
        if name.startswith("--"):
            words.append(f"-l {name[2:]}")
        else:
            words.append(f"-s {name[1:]}" if len(name) == 2 else f"-o {name[1:]}")
    if option.metavar:
        words.append(_value(kind(option), required=True))
    return " ".join([*words, f"-d {_quoted(option.help)}"])


def _value(of_kind: str, required: bool = False) -> str:
    if of_kind == "file":
        return "-rF" if required else "-F"
    needed = "-x" if required else ""
    if not of_kind:
        return needed
    return f"{needed} -a '(__fairq_names {of_kind})'".strip()


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
