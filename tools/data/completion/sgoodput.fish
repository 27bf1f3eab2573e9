# Fish completion for sgoodput: subcommands and options as --help lists them, and fixed values of options.

function __sgoodput_subcommands
    sgoodput --help 2>/dev/null | awk '/^Subcommands:/ { on = 1; next } /^$/ { on = 0 }
        on { name = $1; sub(/^ *[^ ]+ +/, ""); print name "\t" $0 }'
end

# The subcommand on the command line; fails if there is none.
function __sgoodput_subcommand
    set -l known (__sgoodput_subcommands | string split -f1 \t)
    for word in (commandline -opc)[2..]
        if contains -- $word $known
            echo $word
            return 0
        end
    end
    return 1
end

# Of the subcommand, if any. A description that does not fit beside its option is on the next line.
function __sgoodput_options
    sgoodput (__sgoodput_subcommand) --help 2>/dev/null | awk '
        /^  +-/ { names = $1; about = ""; if (match($0, /[^ ]  +[^ -]/)) about = substr($0, RSTART + RLENGTH - 1); print_all(); next }
        function print_all(   n, i, list) {
            n = split(names, list, ",")
            for (i = 1; i <= n; ++i) if (list[i] ~ /^--?[A-Za-z]/) print list[i] "\t" about
        }'
end

# Whether the word before is an option that takes a value.
function __sgoodput_value
    string match -q -- '-*' (commandline -opc)[-1]; or return 1
    contains -- (commandline -opc)[-1] (sgoodput (__sgoodput_subcommand) --help 2>/dev/null | awk '
        /^  +-[^ ]+ [A-Z]/ { n = split($1, list, ","); for (i = 1; i <= n; ++i) print list[i] }')
end

function __sgoodput_after
    contains -- (commandline -opc)[-1] $argv
end

complete -c sgoodput -f
complete -c sgoodput -n 'not __sgoodput_subcommand >/dev/null; and not __sgoodput_value; and not string match -q -- "-*" (commandline -ct)' -a '(__sgoodput_subcommands)'
complete -c sgoodput -n 'string match -q -- "-*" (commandline -ct)' -a '(__sgoodput_options)'

complete -c sgoodput -n '__sgoodput_after --color' -a 'auto always never'
complete -c sgoodput -n '__sgoodput_after --as' -a 'reserved calendar spot flex-start on-demand'
complete -c sgoodput -n '__sgoodput_after --by' -a 'user account partition run node day month cause recovery reservation consumption stockout all tag: user,account'
complete -c sgoodput -n '__sgoodput_after -s --state' -a 'PENDING RUNNING SUSPENDED COMPLETED CANCELLED FAILED TIMEOUT NODE_FAIL PREEMPTED OUT_OF_MEMORY'
complete -c sgoodput -n 'not __sgoodput_subcommand >/dev/null; and __sgoodput_after -o --format' -a '(sgoodput --helpformat 2>/dev/null | string split -n " ")'
complete -c sgoodput -n '__sgoodput_after --explain' -a '(sgoodput show 0 --explain "?" 2>&1 | string replace -rf ".*buckets: " "" | string split -n " " | string trim -c ,)'
complete -c sgoodput -n '__sgoodput_after --log-profile' -a 'auto (sgoodput profile list 2>/dev/null | awk \'NR > 2 { print $1 }\')'
complete -c sgoodput -n 'test "$(__sgoodput_subcommand)" = export; and __sgoodput_after --format' -a '(sgoodput export --help 2>/dev/null | string replace -rf ".*FORMAT:{([^}]*)}.*" \'$1\' | string split ,)'
complete -c sgoodput -n '__sgoodput_after --db --config --html --spool' -F
complete -c sgoodput -n 'test "$(__sgoodput_subcommand)" = import' -F
complete -c sgoodput -n 'test "$(__sgoodput_subcommand)" = profile' -a 'list show test learn'
complete -c sgoodput -n 'test "$(__sgoodput_subcommand)" = fleet' -a 'init migrate add status sync verify resend'
complete -c sgoodput -n 'test "$(__sgoodput_subcommand)" = cloud' -a 'sync status'
complete -c sgoodput -n 'test "$(__sgoodput_subcommand)" = events' -a 'watch status test'
complete -c sgoodput -n 'test "$(__sgoodput_subcommand)" = telemetry' -a 'send status'
complete -c sgoodput -n 'test "$(__sgoodput_subcommand)" = mark' -a 'step checkpoint phase restore world begin end'
