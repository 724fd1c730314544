#!/usr/bin/env bash
# End to end on the built binary: the tour (an agent that is killed and comes
# back), then a server that is killed while an execution waits for a person.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dir=$(mktemp -d)
server=
stop() {
  [[ -n $server ]] && kill -9 "$server" 2>/dev/null || true
  rm -rf "$dir"
}
trap stop EXIT

CGO_ENABLED=0 go build -trimpath -o "$dir/kernelctl" ./cmd/kernelctl
k="$dir/kernelctl"

echo "== the tour"
"$k" dev --tour

echo "== a server that dies while a run waits"
# start: a development server with the demo agent, on a database that stays.
start() {
  : >"$dir/log"
  "$k" dev --listen 127.0.0.1:0 --db "$dir/k.db" >"$dir/out" 2>"$dir/log" &
  server=$!
  for _ in $(seq 100); do
    url=$(sed -n 's/.*url=\(http:[^ ]*\).*/\1/p' "$dir/log" | head -n 1)
    if [[ -n $url ]] && "$k" -s "$url" executions list >/dev/null 2>&1; then
      return
    fi
    sleep 0.1
  done
  cat "$dir/log" >&2
  echo "the server did not start" >&2
  return 1
}
# pending: waits until an approval is pending.
pending() {
  for _ in $(seq 100); do
    [[ -n $("$k" -s "$url" approvals list -o name) ]] && return
    sleep 0.1
  done
  echo "no approval came" >&2
  return 1
}

start
pending
id=$("$k" -s "$url" executions list --status blocked -o name | head -n 1)
kill -9 "$server"
wait "$server" 2>/dev/null || true
start
approval=$("$k" -s "$url" approvals list -o name | head -n 1)
"$k" -s "$url" approvals grant "$approval" --by alice --yes
"$k" -s "$url" executions watch "$id" --timeout 60s
"$k" -s "$url" executions get "$id" -o json | grep -q '"status": *"completed"'
# Five effects were recorded, and none of them twice.
done=$("$k" -s "$url" events list "$id" -o jsonl | grep -c '"type": *"step.succeeded"')
[[ $done -eq 5 ]] || { echo "$done steps succeeded, want 5" >&2; exit 1; }
kill "$server"
wait "$server"
server=
echo "smoke: all good"
