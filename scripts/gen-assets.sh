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

# Nothing of this machine gets into the files: the environment is empty, and
# defaults that are below the home folder begin with ~, as people write them.
k() { (cd "$dir" && env -i HOME='~' LC_ALL=C ./kernelctl "$@"); }

rm -rf completions man
mkdir completions man
k completion bash >completions/kernelctl.bash
k completion zsh >completions/kernelctl.zsh
k completion fish >completions/kernelctl.fish
k completion powershell >completions/kernelctl.ps1
k gen man "$PWD/man"
gzip -9 -n man/*.1

for f in completions/kernelctl.{bash,zsh,fish,ps1}; do
  grep -q __complete "$f" || { echo "$f does not complete anything" >&2; exit 1; }
done
bash -n completions/kernelctl.bash
[[ -s man/kernelctl.1.gz ]] || { echo "there is no manual page" >&2; exit 1; }
