#compdef ferry
# Completion of ferry in zsh. The tables are made of the program's own (tools/make-pages).
typeset -ga _ferry_commands
@TABLES@

# The value of option $1.
_ferry_value()
{
    local kind=$values[${1//-/_}]
    case $kind in
    number) _message number ;;
    text) _files ;;
    ?*) compadd -- ${=kind} ;;
    esac
}

# The configurations that an installation or a source tree has, by name.
_ferry_configs()
{
    local program=${commands[$1]:-$1}
    local dir=${program:A:h}
    local -a names=($dir/@CONFIGS@/*.yaml(N:t:r) $dir/../../configs/*.yaml(N:t:r))
    compadd -- $names
}

_ferry_words()
{
    case $words_are in
    commands) _describe command _ferry_commands ;;
    configs) _ferry_configs $program; _files ;;
    files) _files ;;
    *) compadd -- ${=words_are} ;;
    esac
}

_ferry()
{
    local program=$words[1] words_are i
    local -a options dashed
    local -A values
    for ((i = 3; i < CURRENT; i++)); do # launch -- train ...: a command line of its own
        if [[ $words[2] == launch && $words[i] == -- ]]; then
            words=("${(@)words[i,-1]}")
            ((CURRENT -= i - 1))
            break
        fi
    done
    if ((CURRENT == 2)); then
        _describe command _ferry_commands
        return
    fi
    _ferry_table $words[2]
    local before=${words[CURRENT-1]#--}
    if compset -P '*='; then
        _ferry_value ${${IPREFIX%=}#--}
    elif [[ $words[CURRENT-1] == --?* && $values[${before//-/_}] == (number|text|*?\ *) &&
        $values[${before//-/_}] != 'true false' ]]; then
        _ferry_value $before
    elif [[ $PREFIX == -* ]]; then
        for i in $options; do
            dashed+=("--${${i%%:*}//_/-}:${i#*:}")
        done
        _describe option dashed
    else
        _describe option options -S =
        _ferry_words
    fi
}
_ferry "$@"
