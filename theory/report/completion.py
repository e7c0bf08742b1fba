"""Completion for a shell: commands, options, their choices, and the ids of claims, as a script that is printed.

``python -m theory`` is no word that a shell completes, so that the script makes it one: ``theory``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

SHELLS = ("bash", "zsh", "fish")
_CLAIMS = ("explain", "cite", "prove")  # take ids


def script(parser: argparse.ArgumentParser, shell: str, claims: Sequence[str]) -> str:
    """Return the script for one shell.

    Parameters
    ----------
    parser : ArgumentParser
        The command.
    shell : str
        One of ``SHELLS``.
    claims : sequence of str
        The ids that are completed.
    """
    if shell not in SHELLS:
        raise ValueError(f"shell: expected one of {', '.join(SHELLS)}, got {shell!r}")
    words = _words(parser)
    return _fish(words, claims) if shell == "fish" else _bash(words, claims, zsh=shell == "zsh")


def _words(parser: argparse.ArgumentParser) -> dict[str, tuple[list[str], dict[str, list[str]]]]:
    """Return for each verb its options, and the choices of those that have some."""
    verbs = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001
    found = {}
    for verb, sub in verbs.choices.items():
        options = [option for action in sub._actions for option in action.option_strings if option.startswith("--")]  # noqa: SLF001
        choices = {
            action.option_strings[-1] if action.option_strings else "": [str(choice) for choice in action.choices]
            for action in sub._actions  # noqa: SLF001
            if action.choices is not None
        }
        found[verb] = (options, choices)
    return found


def _bash(words: dict[str, tuple[list[str], dict[str, list[str]]]], claims: Sequence[str], *, zsh: bool) -> str:
    blank = r"\ " if zsh else r"\\\ "  # bash puts what compgen prints as it is, and zsh quotes it
    lines = ["autoload -U +X bashcompinit && bashcompinit"] * zsh
    lines += ['theory() { python -m theory "$@"; }', f"_theory_claims='{' '.join(claims)}'", "_theory() {"]
    lines += ["  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} list="]
    lines += [
        "  if [ $COMP_CWORD -eq 1 ]; then",
        f"    list='{' '.join(words)}'",
        "  else",
        "    case $verb:$before in",
    ]
    for verb, (_, choices) in words.items():
        for option, values in choices.items():
            if option:
                quoted = "\n".join(value.replace(" ", blank) for value in values)
                lines.append(f"      {verb}:{option}) list='{quoted}' ;;")
    lines += ["      *)", "        case $verb in"]
    for verb, (options, choices) in words.items():
        more = " $_theory_claims" if verb in _CLAIMS else ""
        lines.append(f'          {verb}) list="{" ".join([*options, *choices.get("", [])])}{more}" ;;')
    lines += ["        esac ;;", "    esac", "  fi", "  local IFS=$'\\n'"]  # a choice may have blanks
    lines += ['  COMPREPLY=($(IFS=$IFS" " compgen -W "$list" -- "$word"))', "}"]
    return "\n".join([*lines, "complete -o default -F _theory theory", ""])


def _fish(words: dict[str, tuple[list[str], dict[str, list[str]]]], claims: Sequence[str]) -> str:
    lines = ["function theory; python -m theory $argv; end", "complete -c theory -e"]
    lines.append(f"complete -c theory -n __fish_use_subcommand -f -a '{' '.join(words)}'")
    for verb, (options, choices) in words.items():
        seen = f"-n '__fish_seen_subcommand_from {verb}'"
        for option in options:
            values = " ".join(value.replace(" ", "\\ ") for value in choices.get(option, []))
            lines.append(f"complete -c theory {seen} -l {option[2:]}" + (f" -x -a '{values}'" if values else ""))
        if given := [*choices.get("", []), *(claims if verb in _CLAIMS else [])]:
            lines.append(f"complete -c theory {seen} -f -a '{' '.join(given)}'")
    return "\n".join([*lines, ""])
