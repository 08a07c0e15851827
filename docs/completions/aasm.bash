# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
#
# Made by tools/gen_completions.py of the parsers of the commands and of tools/completions: edit those.
# What bash (4.3 or later) completes behind `aasm`: source this file in ~/.bashrc, or put it where bash-completion looks
# for such files, under the name `aasm`: ~/.local/share/bash-completion/completions.

# Which words may follow those of $command, in $names; fails behind a whole command.
_aasm_below() {
    case $command in
        '')
            names=(run policy receipt self-verify --version --help)
            ;;
        'run')
            names=(exec --help)
            ;;
        'policy')
            names=(validate show explain new diff schema --help)
            ;;
        'receipt')
            names=(verify --help)
            ;;
        *) return 1 ;;
    esac
}

# Offers the options of $command.
_aasm_options() {
    case $command in
        'run exec')
            _aasm_option --help -h --help
            _aasm_option --isolation --isolation
            _aasm_option --policy
            _aasm_option --read
            _aasm_option --write
            _aasm_option --system --system
            _aasm_option --isolation-backend --isolation-backend
            _aasm_option --max-memory-bytes --max-memory-bytes
            _aasm_option --max-pids --max-pids
            _aasm_option --max-open-files --max-open-files
            _aasm_option --max-file-size-bytes --max-file-size-bytes
            _aasm_option --max-cpu-seconds --max-cpu-seconds
            _aasm_option --max-wall-clock-seconds --max-wall-clock-seconds
            _aasm_option --workdir --workdir
            _aasm_option --env
            _aasm_option --home --home
            _aasm_option --agent-id --agent-id
            _aasm_option --team-id --team-id
            _aasm_option --no-proxy --no-proxy
            _aasm_option --dry-run --dry-run
            _aasm_option --json --json
            _aasm_option --show-order --show-order
            _aasm_option --receipt --receipt
            _aasm_option --report --report
            _aasm_option --status-fd --status-fd
            _aasm_offer --
            ;;
        'policy validate' | 'receipt verify')
            _aasm_option --help -h --help
            _aasm_option --json --json
            ;;
        'policy show')
            _aasm_option --help -h --help
            _aasm_option --policy
            _aasm_option --workdir --workdir
            _aasm_option --team-id --team-id
            _aasm_option --agent-id --agent-id
            _aasm_option --json --json
            _aasm_option --raw --raw
            ;;
        'policy explain')
            _aasm_option --help -h --help
            _aasm_option --policy
            _aasm_option --workdir --workdir
            _aasm_option --team-id --team-id
            _aasm_option --agent-id --agent-id
            _aasm_option --program --program
            _aasm_option --read --read --write --exec --connect --unix --syscall --tool
            _aasm_option --write --write --read --exec --connect --unix --syscall --tool
            _aasm_option --exec --exec --read --write --connect --unix --syscall --tool
            _aasm_option --connect --connect --read --write --exec --unix --syscall --tool
            _aasm_option --unix --unix --read --write --exec --connect --syscall --tool
            _aasm_option --syscall --syscall --read --write --exec --connect --unix --tool
            _aasm_option --tool --tool --read --write --exec --connect --unix --syscall
            _aasm_option --arguments --arguments
            _aasm_option --json --json
            ;;
        'policy new')
            _aasm_option --help -h --help
            _aasm_option --template --template
            _aasm_option --list --list
            _aasm_option --workdir --workdir
            _aasm_option --output --output
            ;;
        'policy diff')
            _aasm_option --help -h --help
            _aasm_option --workdir --workdir
            _aasm_option --json --json
            ;;
        'policy schema')
            _aasm_option --help -h --help
            ;;
        'self-verify')
            _aasm_option --help -h --help
            _aasm_option --json --json
            _aasm_option --against --against
            ;;
    esac
}

# Offers what the value of the option $1 may be; fails where it takes none.
_aasm_value() {
    case "$command $1" in
        'run exec --isolation')
            _aasm_offer 'none' 'auto' 'process'
            ;;
        'run exec --policy' | 'run exec --read' | 'run exec --write' | 'run exec --receipt' | 'policy show --policy' | 'policy show --raw' | 'policy explain --policy' | 'policy explain --read' | 'policy explain --write' | 'policy explain --exec' | 'policy explain --unix' | 'policy new --output' | 'self-verify --against')
            compopt -o default
            ;;
        'run exec --isolation-backend')
            _aasm_offer 'sandlock' 'aasm-native' 'aasm-macos-vm'
            ;;
        'run exec --max-memory-bytes' | 'run exec --max-pids' | 'run exec --max-open-files' | 'run exec --max-file-size-bytes' | 'run exec --max-cpu-seconds' | 'run exec --max-wall-clock-seconds' | 'run exec --agent-id' | 'run exec --team-id' | 'run exec --status-fd' | 'policy show --team-id' | 'policy show --agent-id' | 'policy explain --team-id' | 'policy explain --agent-id' | 'policy explain --connect' | 'policy explain --syscall' | 'policy explain --tool' | 'policy explain --arguments')
            :
            ;;
        'run exec --workdir' | 'policy show --workdir' | 'policy explain --workdir' | 'policy new --workdir' | 'policy diff --workdir')
            compopt -o dirnames
            ;;
        'run exec --env')
            _aasm_variables
            ;;
        'run exec --home')
            _aasm_offer 'private' 'real'
            ;;
        'run exec --report')
            _aasm_offer 'auto' 'always' 'never'
            ;;
        'policy explain --program')
            _aasm_programs
            ;;
        'policy new --template')
            _aasm_offer 'minimal' 'agent' 'build' 'node' 'python' 'go' 'rust' 'java' 'offline'
            ;;
        *) return 1 ;;
    esac
}

# Offers what an argument of $command may be; fails where it takes none.
_aasm_argument() {
    case $command in
        'policy validate' | 'policy diff' | 'receipt verify')
            compopt -o default
            ;;
        *) return 1 ;;
    esac
}

# Whether another program and its arguments follow `--`.
_aasm_runs() {
    case $command in
        'run exec')
            return 0
            ;;
        *) return 1 ;;
    esac
}

# Offers those of the words that begin with what is typed, without what readline leaves as it stands.
_aasm_offer() {
    local word
    for word; do
        if [[ $head$word == "$cur"* ]]; then
            printf -v word %q "$word"
            word=$head$word
            COMPREPLY+=("${word#"$left"}")
        fi
    done
}

# Offers the option $1, unless one of the others stands on the line.
_aasm_option() {
    local name=$1 other at
    shift
    for other; do
        for ((at = start; at < last; at++)); do
            if [[ ${words[at]} == "$other" || ${words[at]} == "$other="* ]]; then
                return
            fi
        done
    done
    _aasm_offer "$name"
}

_aasm_variables() {
    local name
    while read -r name; do
        _aasm_offer "$name"
    done < <(compgen -e)
}

# Offers programs; what is written as a path is completed as one.
_aasm_programs() {
    local name
    compopt -o default
    if [[ $cur != */* ]]; then
        while IFS= read -r name; do
            _aasm_offer "$name"
        done < <(compgen -c -- "${cur#"$head"}" | LC_ALL=C sort -u)
    fi
}

# Puts the words up to the cursor together, since readline divides them at `=` and `:` too: ${at[i]} says where in
# COMP_WORDS the word i begins.
_aasm_read() {
    local line=${COMP_LINE:0:COMP_POINT} rest word i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        rest=${line#"${line%%[![:space:]]*}"}
        word=${COMP_WORDS[i]}
        if ((i == COMP_CWORD)); then
            word=$rest
        fi
        if ((i > 0)) && [[ $rest == "$line" ]]; then
            words[last]+=$word
        else
            words+=("$word")
            at+=("$i")
        fi
        last=$((${#words[@]} - 1))
        line=${rest#"$word"}
    done
}

# Completes the program at the word $1 of COMP_WORDS, and its arguments, as if nothing stood before it. Without
# bash-completion, which knows how to load and call whatever there is, a function that is there already is called.
_aasm_program() {
    local name=${COMP_WORDS[$1]} spec option
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$1"
        return
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$1"
        return
    elif ((COMP_CWORD == $1)); then
        _aasm_programs
        return
    fi
    spec=" $(complete -p -- "${name##*/}" 2>/dev/null) "
    compopt -o default
    if [[ $spec == *" -F "* ]]; then
        for option in bashdefault dirnames filenames noquote nosort nospace plusdirs; do
            if [[ $spec == *" -o $option "* ]]; then
                compopt -o "$option"
            fi
        done
        _aasm_shift "$1"
        spec=${spec#* -F }
        "${spec%% *}" "$name" "$2" "$3"
    fi
}

# Takes $1 words off what bash says about the line.
_aasm_shift() {
    local line=$COMP_LINE i
    for ((i = 0; i < $1; i++)); do
        line=${line#*"${COMP_WORDS[i]}"}
    done
    line=${line#"${line%%[![:space:]]*}"}
    COMP_WORDS=("${COMP_WORDS[@]:$1}")
    COMP_CWORD=$((COMP_CWORD - $1))
    COMP_POINT=$((COMP_POINT - ${#COMP_LINE} + ${#line}))
    COMP_LINE=$line
}

_aasm() {
    local IFS=$' \t\n' words=() at=() names=() command='' head='' cur left start=1 last=0 i
    _aasm_read
    cur=${words[last]}
    left=${cur%"$2"}
    while _aasm_below; do
        if ((start == last)); then
            _aasm_offer "${names[@]}"
            return
        fi
        command+=${command:+ }${words[start]}
        start=$((start + 1))
    done
    if _aasm_runs; then
        for ((i = start; i < last; i++)); do
            if [[ ${words[i]} == -- ]]; then
                _aasm_program "$((at[i] + 1))" "$2" "$3"
                return
            fi
        done
    fi
    if [[ $cur == --*=* ]]; then
        head=${cur%%=*}=
        _aasm_value "${cur%%=*}"
    elif ((start < last)) && _aasm_value "${words[last - 1]}"; then
        return
    elif [[ $cur == -* ]] || ! _aasm_argument; then
        _aasm_options
    fi
}

complete -F _aasm aasm
