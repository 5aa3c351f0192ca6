#!/bin/sh
# An MCP server whose calls leave a trace: each appends its id to the file `effects.txt` of the
# project before it answers, a moment later and out of order. A daemon of its own stays beside it.
effects=$1
printf 'start\n' >>"$effects"
(sleep 1000 </dev/null >/dev/null 2>&1 &)

answer() {
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"
}

while IFS= read -r line; do
    id=${line#*'"id":'}
    id=${id%%[,\}]*}
    case $line in
    *'"method":"initialize"'*)
        answer "$id" '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"effects","version":"1"}}'
        ;;
    *'"method":"tools/list"'*)
        answer "$id" '{"tools":[{"name":"leave","description":"Leaves a trace.","inputSchema":{"type":"object","properties":{"call":{"type":"string"}},"required":["call"]}}]}'
        ;;
    *'"method":"tools/call"'*)
        call=${line#*'"call":"'}
        call=${call%%\"*}
        printf '%s\n' "$call" >>"$effects"
        (
            sleep "0.0$((id % 9))"
            answer "$id" '{"content":[{"type":"text","text":"left"}]}'
        ) &
        ;;
    esac
done
