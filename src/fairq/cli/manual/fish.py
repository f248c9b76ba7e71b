"""The completion for fish."""

from __future__ import annotations

from collections.abc import Iterator

from fairq.cli.manual.walk import Documented, Parameter, global_options
from fairq.cli.manual.words import CompletedCommand, completed_commands

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
    fairq _complete $argv[1] (commandline -ct) "$words[-1]" $state 2>/dev/null
end

# The words of a list by commas, behind those that are there.
function __fairq_list
    set -l before (string replace -r -- '^--[^=]*=' '' (commandline -ct) | string replace -r -- '[^,]*$' '')
    for word in $argv
        echo "$before$word"
    end
end

# The words of the command line that are neither options nor their values.
function __fairq_words
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
        else if contains -- $word $__fairq_valued
            set skip 1
        else if not string match -q -- '-*' $word
            echo $word
        end
    end
end

# Whether the command line is at the command of this name.
function __fairq_at
    set -l found (__fairq_words)
    set -l size (count $argv)
    test (count $found) -ge $size; and test "$found[1..$size]" = "$argv"
end

# Whether it is there with this number of words behind the name, or more if there is a plus.
function __fairq_nth
    set -l wanted $argv[1]
    set -e argv[1]
    set -l found (__fairq_words)
    set -l size (count $argv)
    if test $size -gt 0
        test (count $found) -ge $size; and test "$found[1..$size]" = "$argv"; or return 1
    end
    set -l more (math (count $found) - $size)
    test $more = $wanted; and return
    string match -q -- '*+' $wanted; and test $more -ge (string replace + '' -- $wanted)
end

complete -c fairq -f
"""


def fish_script(commands: list[Documented]) -> str:
    """Return the script that fish loads for ``fairq``."""
    shared = global_options()
    shared_spellings = {option.spellings for option in shared}
    completed = completed_commands(commands, shared)
    lines = [_valued(completed), *(_option("", option, "file") for option in shared)]
    for command in completed:
        lines += _children(command)
        if not command.words:
            continue
        lines += [
            _option(_condition("__fairq_at", *command.words), option, command.kind(option))
            for option in command.options
            if option.spellings not in shared_spellings
        ]
        for number, argument in enumerate(command.arguments):
            times = f"{number}+" if argument.endswith("...") else str(number)
            value = _value(argument.removesuffix("...").removeprefix("none"))
            if value:
                lines.append(f"complete -c fairq {_condition('__fairq_nth', times, *command.words)} {value}")
    return _HEAD + "\n".join(line.replace("  ", " ") for line in lines) + "\n"


def _valued(completed: list[CompletedCommand]) -> str:
    """Return the list of the options that always have a value, wherever they are accepted."""
    valued: dict[str, bool] = {}
    for command in completed:
        for option in command.options:
            for name in option.spellings:
                valued[name] = valued.get(name, True) and bool(option.metavar)
    return f"set -g __fairq_valued {' '.join(sorted(name for name, always in valued.items() if always))}"


def _condition(*words: str) -> str:
    return "-n " + _quoted(" ".join(words))


def _children(command: CompletedCommand) -> Iterator[str]:
    for name, meaning in command.children:
        yield f"complete -c fairq {_condition('__fairq_nth', '0', *command.words)} -a {name} -d {_quoted(meaning)}"


def _option(condition: str, option: Parameter, kind: str) -> str:
    words = ["complete -c fairq", condition]
    for name in option.spellings:
        if name.startswith("--"):
            words.append(f"-l {name[2:]}")
        else:
            words.append(f"-s {name[1:]}" if len(name) == 2 else f"-o {name[1:]}")
    if option.metavar:
        words.append(_value(kind, required=True))
    return " ".join([*words, f"-d {_quoted(option.help)}"])


def _value(kind: str, required: bool = False) -> str:
    if kind == "file":
        return "-rF" if required else "-F"
    needed = "-x" if required else ""
    if not kind:
        return needed
    if kind.startswith(",:"):
        return f"{needed} -a '(__fairq_list {kind[2:].replace(',', ' ')})'".strip()
    values = kind[1:].replace(",", " ") if kind.startswith(":") else f"(__fairq_names {kind})"
    # Keep the order of the names from fairq: jobs by number, the newest change first.
    order = "" if kind.startswith(":") else "-k"
    return " ".join(filter(None, [needed, order, f"-a '{values}'"]))


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
