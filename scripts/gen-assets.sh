#!/usr/bin/env bash
# Writes completions/ and man/ out of the program itself, for the release.
#
#   scripts/gen-assets.sh [VERSION]    VERSION is what the manual pages say
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# For this machine, whatever the release builds for.
env -u GOOS -u GOARCH CGO_ENABLED=0 go build -trimpath \
  -ldflags "-X github.com/agentkernel/kernelctl/internal/version.version=${1:-}" \
  -o "$dir/kernelctl" ./cmd/kernelctl

# With an empty environment and home: nothing of this machine gets into the files.
k() { env -i HOME="$dir" LC_ALL=C "$dir/kernelctl" "$@"; }

rm -rf completions man
mkdir completions man
k completion bash >completions/kernelctl.bash
k completion zsh >completions/kernelctl.zsh
k completion fish >completions/kernelctl.fish
k completion powershell >completions/kernelctl.ps1
k gen man "$PWD/man"
gzip -9 -n man/*.1

for f in completions/kernelctl.{bash,zsh,fish,ps1} man/kernelctl.1.gz; do
  [[ -s $f ]] || { echo "$f is missing or empty" >&2; exit 1; }
done
bash -n completions/kernelctl.bash
