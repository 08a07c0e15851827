# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
#
# Made by tools/gen_completions.py of the parsers of the commands and of tools/completions: edit those.
# What fish (3.4 or later) completes behind `aasm`: put it into ~/.config/fish/completions, under this name.

# Sets $words of the caller to what stands behind the command, but for the word that is being typed.
function __aasm_read --no-scope-shadowing
    set words (commandline -opc)
    while string match -q -- '*=*' "$words[1]"
        set -e words[1]
    end
    set -e words[1]
end

# Whether these words are all that stands behind the command.
function __aasm_level
    set -l words
    __aasm_read
    test "$words" = "$argv"
end

# Whether the words behind the command begin with these.
function __aasm_command
    set -l words
    __aasm_read
    test (count $words) -ge (count $argv); and test "$words[1..$(count $argv)]" = "$argv"
end

# Whether none of these options stands on the line; behind --typed one may be the last word: its value is being typed.
function __aasm_without
    set -l words
    __aasm_read
    if test "$argv[1]" = --typed
        set -e argv[1]
        contains -- "$words[-1]" $argv; and set -e words[-1]
    end
    for name in $argv
        if contains -- $name $words; or string match -q -- "$name=*" '' $words
            return 1
        end
    end
end

# What is being typed, without the name of an option before `=`; fails for what fish would carry out to complete it.
function __aasm_typed
    commandline -ct | string replace -r -- '^--[a-z-]+=' '' | string collect --allow-empty
    not string match -q -- '*(*' (commandline -ct)
end

function __aasm_folders
    __fish_complete_directories "$(__aasm_typed)" ''
end

function __aasm_programs
    set -l typed "$(__aasm_typed)"; and complete --do-complete=$typed
end

# Completes what follows `--` as if nothing stood before it.
function __aasm_behind
    set -l words
    __aasm_read
    set -e words[1..(contains -i -- -- $words)]
    set -l typed "$(__aasm_typed)"; or return
    set -l line (string escape -- $words) "$(commandline -ct)"
    complete --do-complete="$line"
end

function __aasm_run_exec_isolation
    printf '%s\t%s\n' 'none' ''
    printf '%s\t%s\n' 'auto' ''
    printf '%s\t%s\n' 'process' ''
end

function __aasm_run_exec_isolation_backend
    printf '%s\t%s\n' 'sandlock' ''
    printf '%s\t%s\n' 'aasm-native' ''
    printf '%s\t%s\n' 'aasm-macos-vm' ''
end

function __aasm_run_exec_home
    printf '%s\t%s\n' 'private' ''
    printf '%s\t%s\n' 'real' ''
end

function __aasm_run_exec_report
    printf '%s\t%s\n' 'auto' ''
    printf '%s\t%s\n' 'always' ''
    printf '%s\t%s\n' 'never' ''
end

function __aasm_policy_new_template
    printf '%s\t%s\n' 'minimal' 'reads one directory and the host\'s programs, writes nothing, no network'
    printf '%s\t%s\n' 'agent' 'an agent at work in one directory, with the toolchains of this host and an open network'
    printf '%s\t%s\n' 'build' 'gcc, make, cmake and the like at work in one directory, no network'
    printf '%s\t%s\n' 'node' 'Node and npm at work in one directory, no network'
    printf '%s\t%s\n' 'python' 'Python and pip at work in one directory, no network'
    printf '%s\t%s\n' 'go' 'Go at work in one directory, no network'
    printf '%s\t%s\n' 'rust' 'cargo and rustc at work in one directory, no network'
    printf '%s\t%s\n' 'java' 'Java, maven and gradle at work in one directory, no network'
    printf '%s\t%s\n' 'offline' 'an agent, or any program, at work in one directory with the toolchains of this host, no network'
end

complete -c aasm -f
complete -c aasm -n '__aasm_level' -a run -d 'launch a program'
complete -c aasm -n '__aasm_level' -a policy -d 'check, show, explain, write and compare policies'
complete -c aasm -n '__aasm_level' -a receipt -d 'check a receipt\'s seal and its claims'
complete -c aasm -n '__aasm_level' -a self-verify -d 'compare this copy of aasm with the list of its files'
complete -c aasm -n '__aasm_level' -l version -d 'print the version'
complete -c aasm -n '__aasm_level' -l help -d 'show the usage'
complete -c aasm -n '__aasm_level run' -a exec -d 'launch a program'
complete -c aasm -n '__aasm_level run' -l help -d 'show the usage'
complete -c aasm -n '__aasm_level policy' -a validate -d 'every fault of policy files, each with its line'
complete -c aasm -n '__aasm_level policy' -a show -d 'the policy that a launch would go by, merged, each value with its origin'
complete -c aasm -n '__aasm_level policy' -a explain -d 'whether something is allowed, by which rule, and what to add'
complete -c aasm -n '__aasm_level policy' -a new -d 'a commented starting policy for this host'
complete -c aasm -n '__aasm_level policy' -a diff -d 'what one policy permits and the other does not'
complete -c aasm -n '__aasm_level policy' -a schema -d 'the JSON Schema of a policy'
complete -c aasm -n '__aasm_level policy' -l help -d 'show the usage'
complete -c aasm -n '__aasm_level receipt' -a verify -d 'check a receipt\'s seal and its claims'
complete -c aasm -n '__aasm_level receipt' -l help -d 'show the usage'
complete -c aasm -n '__aasm_command run exec; and __aasm_without -h --help' -s h -l help -d 'show this help message and exit'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --typed --isolation' -l isolation -x -a '(__aasm_run_exec_isolation)' -d 'the boundary that is required; process and auto never fall back to none (default: none)'
complete -c aasm -n '__aasm_command run exec' -l policy -r -F -d 'the policy, a file or a directory of them; repeat it for a cascade, of which the most restrictive statements count; exclusive of every other place a policy is looked for'
complete -c aasm -n '__aasm_command run exec' -l read -r -F -d 'let it read and execute PATH and what is beneath it (instead of a policy)'
complete -c aasm -n '__aasm_command run exec' -l write -r -F -d 'let it read, execute and write PATH and what is beneath it (instead of a policy)'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --system' -l system -d 'let it read and execute the host\'s programs and libraries (instead of a policy)'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --typed --isolation-backend' -l isolation-backend -x -a '(__aasm_run_exec_isolation_backend)' -d 'for diagnosis: this backend or a refusal, whatever would be chosen'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --typed --max-memory-bytes' -l max-memory-bytes -x -d 'memory of the whole tree; no backend of this build can hold it'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --typed --max-pids' -l max-pids -x -d 'processes of the whole tree; no backend of this build can hold it'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --typed --max-open-files' -l max-open-files -x -d 'open descriptors of each process (RLIMIT_NOFILE)'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --typed --max-file-size-bytes' -l max-file-size-bytes -x -d 'size of a file that a process writes (RLIMIT_FSIZE)'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --typed --max-cpu-seconds' -l max-cpu-seconds -x -d 'processor time; no backend of this build measures it'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --typed --max-wall-clock-seconds' -l max-wall-clock-seconds -x -d 'end it after N seconds: SIGTERM, five seconds of grace, then SIGKILL'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --typed --workdir' -l workdir -x -a '(__aasm_folders)' -d 'start the program in DIR (default: here)'
complete -c aasm -n '__aasm_command run exec' -l env -x -a '(set -nx)' -d 'pass the variable NAME on, or set it; nothing but a few harmless names passes by itself'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --typed --home' -l home -x -a '(__aasm_run_exec_home)' -d 'HOME and XDG directories: of the run alone, or the real ones (default: private)'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --typed --agent-id' -l agent-id -x -d 'who the run is attributed to (default: random)'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --typed --team-id' -l team-id -x -d 'the team of that identity'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --no-proxy' -l no-proxy -d 'accepted; this release mediates no traffic'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --dry-run' -l dry-run -d 'print the resolved plan and execute nothing'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --json' -l json -d 'with --dry-run: print the plan as one JSON object'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --show-order' -l show-order -d 'with --dry-run: write the launcher\'s order to standard output instead of the plan'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --typed --receipt' -l receipt -r -F -d 'write the receipt to FILE, which must not exist'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --typed --report' -l report -x -a '(__aasm_run_exec_report)' -d 'standard error gets the isolation report as a block of keys; auto: on a terminal a line instead (default: auto)'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --typed --status-fd' -l status-fd -x -d 'write one JSON line on how the run ended to the open descriptor N'
complete -c aasm -n '__aasm_command run exec; and __aasm_without --' -a -- -d 'the program and its arguments follow'
complete -c aasm -n '__aasm_command run exec; and not __aasm_without --' -a '(__aasm_behind)'
complete -c aasm -n '__aasm_command policy validate; and __aasm_without -h --help' -s h -l help -d 'show this help message and exit'
complete -c aasm -n '__aasm_command policy validate; and __aasm_without --json' -l json -d 'print one JSON object'
complete -c aasm -n '__aasm_command policy validate' -F
complete -c aasm -n '__aasm_command policy show; and __aasm_without -h --help' -s h -l help -d 'show this help message and exit'
complete -c aasm -n '__aasm_command policy show' -l policy -r -F -d 'the policy, a file or a directory of them; repeat it for a cascade (default: the places in which a launch looks for one)'
complete -c aasm -n '__aasm_command policy show; and __aasm_without --typed --workdir' -l workdir -x -a '(__aasm_folders)' -d '${workdir} is DIR (default: here)'
complete -c aasm -n '__aasm_command policy show; and __aasm_without --typed --team-id' -l team-id -x -d 'of the team ID: a policy with the scope of another team is left out'
complete -c aasm -n '__aasm_command policy show; and __aasm_without --typed --agent-id' -l agent-id -x -d 'of the agent ID: a policy with the scope of another agent is left out'
complete -c aasm -n '__aasm_command policy show; and __aasm_without --json' -l json -d 'print one JSON object'
complete -c aasm -n '__aasm_command policy show; and __aasm_without --typed --raw' -l raw -r -F -d 'print what the reader saw in FILE, valid or not, as one line of JSON with sorted keys; the digest of a policy is made of it'
complete -c aasm -n '__aasm_command policy explain; and __aasm_without -h --help' -s h -l help -d 'show this help message and exit'
complete -c aasm -n '__aasm_command policy explain' -l policy -r -F -d 'the policy, a file or a directory of them; repeat it for a cascade (default: the places in which a launch looks for one)'
complete -c aasm -n '__aasm_command policy explain; and __aasm_without --typed --workdir' -l workdir -x -a '(__aasm_folders)' -d '${workdir} is DIR (default: here)'
complete -c aasm -n '__aasm_command policy explain; and __aasm_without --typed --team-id' -l team-id -x -d 'of the team ID: a policy with the scope of another team is left out'
complete -c aasm -n '__aasm_command policy explain; and __aasm_without --typed --agent-id' -l agent-id -x -d 'of the agent ID: a policy with the scope of another agent is left out'
complete -c aasm -n '__aasm_command policy explain; and __aasm_without --typed --program' -l program -x -a '(__aasm_programs)' -d 'list what X needs before its first line'
complete -c aasm -n '__aasm_command policy explain; and __aasm_without --typed --read --write --exec --connect --unix --syscall --tool' -l read -r -F -d 'may PATH be opened for reading, or listed'
complete -c aasm -n '__aasm_command policy explain; and __aasm_without --typed --write --read --exec --connect --unix --syscall --tool' -l write -r -F -d 'may PATH be written; one that is missing is made'
complete -c aasm -n '__aasm_command policy explain; and __aasm_without --typed --exec --read --write --connect --unix --syscall --tool' -l exec -r -F -d 'may PATH be executed'
complete -c aasm -n '__aasm_command policy explain; and __aasm_without --typed --connect --read --write --exec --unix --syscall --tool' -l connect -x -d 'may a connection be made to HOST:PORT'
complete -c aasm -n '__aasm_command policy explain; and __aasm_without --typed --unix --read --write --exec --connect --syscall --tool' -l unix -r -F -d 'may a connection be made to the unix socket PATH'
complete -c aasm -n '__aasm_command policy explain; and __aasm_without --typed --syscall --read --write --exec --connect --unix --tool' -l syscall -x -d 'may the system call NAME be made'
complete -c aasm -n '__aasm_command policy explain; and __aasm_without --typed --tool --read --write --exec --connect --unix --syscall' -l tool -x -d 'may the tool NAME be called, with what --arguments says'
complete -c aasm -n '__aasm_command policy explain; and __aasm_without --typed --arguments' -l arguments -x -d 'with --tool: the arguments of the call, a map'
complete -c aasm -n '__aasm_command policy explain; and __aasm_without --json' -l json -d 'print one JSON object'
complete -c aasm -n '__aasm_command policy new; and __aasm_without -h --help' -s h -l help -d 'show this help message and exit'
complete -c aasm -n '__aasm_command policy new; and __aasm_without --typed --template' -l template -x -a '(__aasm_policy_new_template)' -d 'what it is for: a name that --list shows'
complete -c aasm -n '__aasm_command policy new; and __aasm_without --list' -l list -d 'list the templates'
complete -c aasm -n '__aasm_command policy new; and __aasm_without --typed --workdir' -l workdir -x -a '(__aasm_folders)' -d 'name DIR as the directory to work in (default: ${workdir}, wherever a launch starts)'
complete -c aasm -n '__aasm_command policy new; and __aasm_without --typed --output' -l output -r -F -d 'write to FILE, which must not exist and which the program must not be able to write (default: standard output)'
complete -c aasm -n '__aasm_command policy diff; and __aasm_without -h --help' -s h -l help -d 'show this help message and exit'
complete -c aasm -n '__aasm_command policy diff; and __aasm_without --typed --workdir' -l workdir -x -a '(__aasm_folders)' -d '${workdir} is DIR (default: here)'
complete -c aasm -n '__aasm_command policy diff; and __aasm_without --json' -l json -d 'print one JSON object'
complete -c aasm -n '__aasm_command policy diff' -F
complete -c aasm -n '__aasm_command policy schema; and __aasm_without -h --help' -s h -l help -d 'show this help message and exit'
complete -c aasm -n '__aasm_command receipt verify; and __aasm_without -h --help' -s h -l help -d 'show this help message and exit'
complete -c aasm -n '__aasm_command receipt verify; and __aasm_without --json' -l json -d 'print one line of JSON for each receipt'
complete -c aasm -n '__aasm_command receipt verify' -F
complete -c aasm -n '__aasm_command self-verify; and __aasm_without -h --help' -s h -l help -d 'show this help message and exit'
complete -c aasm -n '__aasm_command self-verify; and __aasm_without --json' -l json -d 'print one JSON object'
complete -c aasm -n '__aasm_command self-verify; and __aasm_without --typed --against' -l against -r -F -d 'compare with this manifest or SPDX SBOM (JSON)'
