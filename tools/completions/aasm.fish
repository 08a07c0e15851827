# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
#
# table: made
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

# table: words
complete -c aasm -f
# table: lines
