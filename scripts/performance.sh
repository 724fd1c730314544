#!/usr/bin/env bash
# Takes the figures of docs/performance.md again and puts them there. It wants the
# machine for itself. What is given goes to kernelctl bench, such as
#
#   scripts/performance.sh --executions 1000000 --gigabytes 10
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
CGO_ENABLED=0 go build -trimpath -o "$dir/" ./cmd/kernelctl
"$dir/kernelctl" bench --scenario all --markdown "$@" >"$dir/table"
awk -v table="$dir/table" '
  /^<!-- figures -->$/ { print; print ""; while ((getline line < table) > 0) print line; print ""; skip = 1 }
  /^<!-- \/figures -->$/ { skip = 0 }
  !skip && !/^<!-- figures -->$/ { print }
' docs/performance.md >"$dir/page"
cp "$dir/page" docs/performance.md
