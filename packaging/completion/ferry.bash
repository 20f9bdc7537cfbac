# Completion of ferry in bash. The tables are made of the program's own (tools/make-pages).
@TABLES@

# The configurations that an installation or a source tree has, by name.
_ferry_configs()
{
    local program dir file
    program=$(type -P "$1") || return 0
    program=$(readlink -f "$program")
    for dir in "${program%/*}/@CONFIGS@" "${program%/*}/../../configs"; do
        for file in "$dir"/*.yaml; do
            [[ -e $file ]] && basename "$file" .yaml
        done
    done
}

# Replies end with a blank where the word is whole; readline adds none.
_ferry_reply()
{
    local word
    while IFS= read -r word; do
        COMPREPLY+=("$word ")
    done < <(compgen -W "$1" -- "$2")
}

_ferry_files()
{
    local file
    while IFS= read -r file; do
        if [[ -d $file ]]; then
            COMPREPLY+=("$(printf %q/ "$file")")
        else
            COMPREPLY+=("$(printf '%q ' "$file")")
        fi
    done < <(compgen -f -- "$1")
}

# The value of option $1, of which $2 is typed.
_ferry_value()
{
    local option
    for option in "${options[@]}"; do
        [[ ${option%% *} == "${1//-/_}" ]] || continue
        case ${option#* } in
        number) ;;
        text) _ferry_files "$2" ;;
        *) _ferry_reply "${option#* }" "$2" ;;
        esac
    done
}

# Names of options: key= for a word, --key and --no-key for one that begins with a dash.
_ferry_names()
{
    local option name
    for option in "${options[@]}"; do
        name=${option%% *}
        if [[ $1 != -* ]]; then
            [[ $name == "$1"* ]] && COMPREPLY+=("$name=")
            continue
        fi
        [[ --${name//_/-} == "$1"* ]] && COMPREPLY+=("--${name//_/-} ")
        [[ ${option#* } == 'true false' && --no-${name//_/-} == "$1"* ]] &&
            COMPREPLY+=("--no-${name//_/-} ")
    done
}

_ferry_words()
{
    case $words in
    commands) _ferry_reply "$_ferry_commands" "$1" ;;
    configs) _ferry_reply "$(_ferry_configs "$program")" "$1"; _ferry_files "$1" ;;
    files) _ferry_files "$1" ;;
    *) _ferry_reply "$words" "$1" ;;
    esac
}

# Whether `--key` before the present word waits for a value; those that are true or false do not.
_ferry_waits()
{
    local option
    [[ $1 == --?* && $1 != *=* ]] || return 1
    for option in "${options[@]}"; do
        [[ ${option%% *} == "$(tr - _ <<<"${1#--}")" && ${option#* } != 'true false' ]] && return
    done
    return 1
}

_ferry()
{
    local line=${COMP_LINE:0:COMP_POINT} present='' i words program
    local -a typed options=()
    COMPREPLY=()
    compopt -o nospace 2>/dev/null
    read -ra typed <<<"$line"
    if [[ $line != *[[:space:]] ]]; then
        present=${typed[-1]}
        unset 'typed[-1]'
    fi
    program=${typed[0]}
    for i in "${!typed[@]}"; do # launch -- train ...: a command line of its own
        [[ ${typed[1]} == launch && ${typed[i]} == -- ]] && typed=("${typed[@]:i}") && break
    done
    if [[ ${#typed[@]} -lt 2 ]]; then
        _ferry_reply "$_ferry_commands" "$present"
        return
    fi
    _ferry_table "${typed[1]}"
    if [[ $present == *=* ]]; then
        i=${present%%=*}
        _ferry_value "${i#--}" "${present#*=}"
        # readline replaces what stands behind the last of its word breaks
        [[ $COMP_WORDBREAKS == *=* ]] || COMPREPLY=("${COMPREPLY[@]/#/$i=}")
    elif _ferry_waits "${typed[-1]}"; then
        _ferry_value "${typed[-1]#--}" "$present"
    else
        _ferry_names "$present"
        [[ $present == -* ]] || _ferry_words "$present"
    fi
}
complete -F _ferry ferry
