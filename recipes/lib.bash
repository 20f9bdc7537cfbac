# What the recipes share; sourced by them. A recipe makes everything below one directory and can be
# called again after an interruption: what is finished is not made twice.
set -euo pipefail

recipes=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
begin=$SECONDS

step() { printf '\n== %s\n' "$1"; }

fail() {
    echo "recipe: $1" >&2
    exit 2
}

ferry=${FERRY:-$(dirname "$recipes")/build/release/ferry}
[ -x "$ferry" ] || ferry=$(command -v ferry) ||
    fail "there is no build/release/ferry and none in PATH; run make first"

# options NAME...: KEY=VALUE arguments of the recipe; those of NAME become variables, the others
# go to the training.
options() {
    local known=" $* " option
    training=()
    for option in "${arguments[@]}"; do
        [[ $option =~ ^[a-z_0-9]+= ]] || fail "'$option' is no option; write KEY=VALUE"
        case $known in
        *" ${option%%=*} "*) printf -v "${option%%=*}" %s "${option#*=}" ;;
        *) training+=("$option") ;;
        esac
    done
}

# need_held_out: $valid and $test as options of `ferry prepare`, in the variable held_out.
need_held_out() {
    [[ $valid == *,* && $test == *,* ]] || fail "valid= and test= name two files each, with a comma between"
    held_out=(valid_source="${valid%%,*}" valid_target="${valid#*,}" test_source="${test%%,*}" test_target="${test#*,}")
}

# need_share NAME: the variable NAME is a share that may be kept.
need_share() {
    awk -v x="${!1}" 'BEGIN { exit !(x ~ /^[0-9]*[.]?[0-9]*$/ && x + 0 > 0 && x + 0 <= 1) }' ||
        fail "$1=${!1}: want a share above 0 and at most 1"
}

# need_text FILE: one file that can be read, by a name that options take as it is.
need_text() {
    [ ! -d "$1" ] || fail "$1 is a directory; name a file of text"
    [ -r "$1" ] || fail "$1 cannot be read"
    [[ $1 != *,* && $1 != @* ]] || fail "$1: a name with a comma or with @ in front means several files; rename it"
}

# text DIR NAME...: the path of the first NAME in DIR, packed or not.
text() {
    local dir=$1 name packed
    shift
    for name; do
        for packed in '' .gz .xz .zst; do
            [ ! -e "$dir/$name$packed" ] || { echo "$dir/$name$packed"; return; }
        done
    done
    fail "$dir has no $1, packed or not"
}

# plain FILE: its lines, unpacked.
plain() {
    case $1 in
    *.gz) gzip -dc "$1" ;;
    *.xz) xz -dc "$1" ;;
    *.zst) zstd -dc "$1" ;;
    *) cat "$1" ;;
    esac
}

# train_to_end RUN [CONFIG] OPTION=VALUE...: a training that is asked to stop ends well, but nothing may
# be chosen or tested before its last update.
train_to_end() {
    local run=$1
    "$ferry" train "${@:2}" run="$run"
    [[ $(grep '"event":"stop"' "$run/run.jsonl" | tail -n 1) != *'"reason":"signal"'* ]] ||
        fail "the training in $run was stopped; the same command goes on where it was"
}

# once FILE COMMAND...: run it unless FILE is there; COMMAND writes FILE.new or FILE itself, last of all.
once() {
    local file=$1
    shift
    [ ! -e "$file" ] || return 0
    "$@"
    [ ! -e "$file.new" ] || mv "$file.new" "$file"
}

# eval_once FILE OPTION...: what `ferry eval` prints, once, and in FILE; a run's log has it once, too.
eval_once() {
    once "$1" eval_into "$@"
    cat "$1"
}
eval_into() { "$ferry" eval "${@:2}" > "$1.new"; }

# bleu REFERENCE HYPOTHESIS [OPTION...]: the number alone.
bleu() { "$ferry" score "$@" score_only=true; }

# parameters RUN: how many weights the model of a run has.
parameters() { "$ferry" inspect "$1" | awk '$1 == "parameters" && !n++ { gsub(",", "", $2); print $2 }'; }

# speed MODEL TEXT [OPTION...]: words of the source a second, of the time in which it translates.
speed() {
    local lines
    lines=$("$ferry" translate "$@" output=/dev/null 2>&1 | tr '\r' '\n' |
        sed -n 's|^translated .* \([0-9.]*\) lines/s .*|\1|p' | tail -1) && [ "$lines" ] ||
        fail "the speed of $1 could not be measured; ferry translate $* says why"
    plain "$2" | awk -v lines="$lines" '{ words += NF } END { printf "%.0f", words / NR * lines }'
}

# spread: mean and standard deviation (of a sample) of the numbers that are read; of one the number.
spread() {
    awk '{ x[NR] = $1; sum += $1 }
        END { mean = sum / NR
          for (i in x) squares += (x[i] - mean) ^ 2
          printf "%.2f", mean
          if (NR > 1) printf " ± %.2f", sqrt(squares / (NR - 1)) }'
}

took() { printf '%d min %d s' $(((SECONDS - begin) / 60)) $(((SECONDS - begin) % 60)); }
