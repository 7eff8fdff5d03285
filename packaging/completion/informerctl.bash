# SPDX-License-Identifier: Apache-2.0
# Completion of informerctl for bash. informerctl itself knows its commands and options, and asks
# the running daemon for names; without a daemon it is silent, and files are offered.

_informerctl()
{
    local i word candidate before words=()
    COMPREPLY=()
    # bash has made three words of a name with a colon (system:node): here they are one.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((${#words[@]} > 0)) && [[ $word == :* || ${words[-1]} == *: ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
    done
    # What is before the last colon stands already, and must not be in the candidates.
    before=
    if [[ $COMP_WORDBREAKS == *:* ]]; then
        before=${words[-1]%"${words[-1]##*:}"}
    fi
    while IFS= read -r candidate; do
        # bash inserts the text as it stands, and a name from the cluster may hold anything: $(...), too.
        printf -v candidate %q "${candidate#"$before"}"
        COMPREPLY+=("$candidate")
    done < <("$1" __complete "${words[@]}" 2>/dev/null)
}
complete -o bashdefault -o default -F _informerctl informerctl
