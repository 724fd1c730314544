#!/usr/bin/env bash
# Makes a release of the last commit the way goreleaser will, twice, without
# publishing, signing or building images, and looks at what came out. Needs Go,
# git and the modules; what else it can use (rpm, ruby, …) it says when missing.
# The first time it builds goreleaser; allow ten minutes.
#
#   GORELEASER=/path/to/goreleaser scripts/release-check.sh    uses that one
#   KEEP=1 scripts/release-check.sh                            keeps what it made
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

GORELEASER_VERSION=2.16.0
SKIP=publish,sign,sbom,docker
SYSTEMS=(linux darwin windows)
ARCHES=(amd64 arm64)

# Of the repository that is checked, and not of one that a hook runs in.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
# A release takes its version from the tag in the clone.
unset GORELEASER_CURRENT_TAG GORELEASER_PREVIOUS_TAG

root=$PWD
commit=$(git rev-parse HEAD)
tag=v0.0.0
version=0.0.1-next # what the snapshot makes of the tag
work=$(mktemp -d)
current=
finish() {
  local code=$?
  [[ $code -eq 0 ]] || echo "release check FAILED in \"$current\" after ${SECONDS}s" >&2
  if [[ ${KEEP:-} == 1 ]]; then echo "kept $work" >&2; else rm -rf "$work"; fi
}
trap finish EXIT

stage() {
  current=$1
  local from=$SECONDS
  "${@:2}"
  echo "ok    $current ($((SECONDS - from))s)"
}

skip() { echo "skip  $1"; }

fail() {
  echo "$1" >&2
  return 1
}

have() { command -v "$1" >/dev/null; }

sha256() { if have sha256sum; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }

# install_goreleaser: the pinned one, in a cache outside of the tree.
install_goreleaser() {
  local dir=${XDG_CACHE_HOME:-$HOME/.cache}/kernelctl-ci/goreleaser-$GORELEASER_VERSION
  if [[ -z ${GORELEASER:-} ]]; then
    GORELEASER=$dir/goreleaser
    if [[ ! -x $GORELEASER ]]; then
      echo "building goreleaser v$GORELEASER_VERSION, which takes minutes"
      CGO_ENABLED=0 GOTOOLCHAIN=local GOBIN=$dir \
        go install "github.com/goreleaser/goreleaser/v2@v$GORELEASER_VERSION"
    fi
  fi
  local said
  said=$("$GORELEASER" --version)
  grep -qE "^GitVersion: +v?${GORELEASER_VERSION//./\\.}\$" <<<"$said" ||
    fail "$GORELEASER is not version $GORELEASER_VERSION"
}

config() { "$GORELEASER" check; }

# snapshot DIR: a release of the commit in a clone of its own.
snapshot() {
  git clone -q --no-tags "$root" "$1"
  git -C "$1" checkout -q --detach "$commit"
  git -C "$1" -c tag.gpgSign=false tag "$tag"
  git -C "$1" remote set-url origin https://github.com/agentkernel/kernelctl.git
  if ! (cd "$1" && GOTOOLCHAIN=local "$GORELEASER" release --snapshot --clean --skip="$SKIP") >"$1.log" 2>&1; then
    cat "$1.log" >&2
    fail "goreleaser failed"
  fi
  local left
  left=$(git -C "$1" status --porcelain)
  [[ -z $left ]] || fail "the release leaves files that git does not ignore: $left"
}

# contents ARCHIVE: the names in it.
contents() {
  case $1 in
    *.tar.gz) tar -tzf "$1" ;;
    *.zip) if have unzip; then unzip -Z1 "$1"; else python3 -m zipfile -l "$1" | awk 'NR > 1 { print $1 }'; fi ;;
  esac
}

# holds WHAT LIST NAME...: fails unless each name is a line of the list.
holds() {
  local what=$1 list=$2 name
  for name in "${@:3}"; do
    grep -qxF -- "$name" <<<"$list" || fail "$what has no $name"
  done
}

archives() {
  local os arch name list
  for os in "${SYSTEMS[@]}"; do
    for arch in "${ARCHES[@]}"; do
      name=kernelctl_${version}_${os}_${arch}.tar.gz
      if [[ $os == windows ]]; then name=${name%.tar.gz}.zip; fi
      [[ -f $name ]] || fail "there is no $name"
      list=$(contents "$name")
      holds "$name" "$list" LICENSE README.md CHANGELOG.md man/kernelctl.1.gz man/kernelctl-serve.1.gz \
        completions/kernelctl.{bash,zsh,fish,ps1}
      case $os in
        windows) holds "$name" "$list" kernelctl.exe ;;
        *) holds "$name" "$list" kernelctl ;;
      esac
    done
  done
}

# checksums: each file that is published is named and as its checksum says.
checksums() {
  sha256 -c checksums.txt >/dev/null
  local name
  for name in *.tar.gz *.zip *.deb *.rpm; do
    grep -qF "  $name" checksums.txt || fail "checksums.txt does not name $name"
  done
}

# built: each binary was built as the configuration says.
built() {
  local binary info count=0
  for binary in kernelctl_*/kernelctl*; do
    count=$((count + 1))
    info=$(go version -m "$binary")
    local want
    for want in CGO_ENABLED=0 -trimpath=true "vcs.revision=$commit" vcs.modified=false; do
      grep -qF "	$want" <<<"$info" || fail "$binary was built without $want"
    done
  done
  [[ $count -eq $((${#SYSTEMS[@]} * ${#ARCHES[@]})) ]] || fail "there are $count binaries"
}

# stamped: the binary in this machine's archive says which build it is.
stamped() {
  local archive want got
  archive=kernelctl_${version}_$(go env GOHOSTOS)_$(go env GOHOSTARCH).tar.gz
  mkdir "$work/unpacked"
  tar -xzf "$archive" -C "$work/unpacked"
  want="kernelctl $version (${commit:0:7} $(TZ=UTC git -C "$root" show -s --date=format-local:%Y-%m-%d --format=%cd "$commit")) $(go env GOVERSION) $(go env GOHOSTOS)/$(go env GOHOSTARCH)"
  got=$(env -i HOME="$work" "$work/unpacked/kernelctl" version)
  [[ $got == "$want" ]] || fail "version says \"$got\", want \"$want\""
  # The unpacked completions are those of this binary.
  env -i HOME="$work" "$work/unpacked/kernelctl" completion bash | cmp - "$work/unpacked/completions/kernelctl.bash"
  echo "      $got"
}

# What both packages have.
PACKAGED=(
  /usr/bin/kernelctl
  /usr/share/bash-completion/completions/kernelctl
  /usr/share/fish/vendor_completions.d/kernelctl.fish
  /usr/share/man/man1/kernelctl.1.gz
  /usr/share/man/man1/kernelctl-serve.1.gz
  /usr/lib/systemd/system/kernelctl.service
  /etc/kernelctl/kernelctl.env
  /usr/share/doc/kernelctl/examples/manifest.yaml
  /usr/share/doc/kernelctl/CHANGELOG.md
)

debs() {
  local arch deb list script tree
  for arch in "${ARCHES[@]}"; do
    deb=kernelctl_${version}_linux_${arch}.deb
    list=$(dpkg-deb -c "$deb")
    # The name is what follows the time; it begins with a dot.
    holds "$deb" "$(awk '{ sub(/^\./, "", $6); print $6 }' <<<"$list")" "${PACKAGED[@]}" \
      /usr/share/zsh/vendor-completions/_kernelctl /usr/share/doc/kernelctl/copyright
    grep -qE '^-rw------- root/root .* \./etc/kernelctl/kernelctl\.env$' <<<"$list" || fail "$deb: the file for the token is not root's alone"
    grep -qE '^-rwxr-xr-x root/root .* \./usr/bin/kernelctl$' <<<"$list" || fail "$deb: the binary has a strange mode or owner"
    if grep -vE '^.[rwx-]{9} root/root ' <<<"$list" | grep .; then fail "$deb: these are not root's"; fi
    [[ $(dpkg-deb -f "$deb" Architecture) == "$arch" ]] || fail "$deb has a strange architecture"
    rm -rf "$work/control"
    dpkg-deb -e "$deb" "$work/control"
    holds "$deb" "$(cat "$work/control/conffiles")" /etc/kernelctl/kernelctl.env
    for script in postinst prerm postrm; do sh -n "$work/control/$script"; done
  done
  if have systemd-analyze; then
    tree=$work/tree
    dpkg-deb -x "kernelctl_${version}_linux_$(go env GOHOSTARCH).deb" "$tree"
    unit "$tree"
  else
    skip "the unit: there is no systemd-analyze"
  fi
}

# unit TREE: systemd takes the unit. It is told of the binary's place in TREE.
unit() {
  mkdir -p "$work/unit"
  sed "s|^ExecStart=/usr/bin/|ExecStart=$1/usr/bin/|" "$1/usr/lib/systemd/system/kernelctl.service" >"$work/unit/kernelctl.service"
  systemd-analyze verify --man=no "$work/unit/kernelctl.service" || fail "systemd does not take the unit"
}

rpms() {
  local arch rpm list
  for arch in "${ARCHES[@]}"; do
    rpm=kernelctl_${version}_linux_${arch}.rpm
    holds "$rpm" "$(rpm -qlp "$rpm")" "${PACKAGED[@]}" \
      /usr/share/zsh/site-functions/_kernelctl /usr/share/licenses/kernelctl/LICENSE
    holds "$rpm" "$(rpm -qcp "$rpm")" /etc/kernelctl/kernelctl.env
    list=$(rpm -qp --qf '[%{FILEMODES:perms} %{FILEUSERNAME} %{FILENAMES}\n]' "$rpm")
    holds "$rpm" "$list" '-rw------- root /etc/kernelctl/kernelctl.env' '-rwxr-xr-x root /usr/bin/kernelctl'
  done
}

cask() {
  ruby -c homebrew/Casks/kernelctl.rb >/dev/null
}

# cask_guard holds without ruby, too: Linux has no xattr.
cask_guard() {
  local guarded
  guarded=$(grep -A1 'if OS.mac?' homebrew/Casks/kernelctl.rb || true)
  [[ $guarded == *xattr* ]] || fail "the quarantine hook is not guarded"
}

# same: what the second run made is what the first one made, to the byte.
same() {
  local file
  for file in kernelctl_*/kernelctl*; do
    cmp "$file" "$work/second/dist/$file"
  done
  diff checksums.txt "$work/second/dist/checksums.txt"
}

if [[ -n $(git status --porcelain) ]]; then
  echo "note: the check is of commit ${commit:0:7}, without what is not committed" >&2
fi
stage "goreleaser v$GORELEASER_VERSION" install_goreleaser
stage "configuration" config
stage "snapshot" snapshot "$work/first"
cd "$work/first/dist"
stage "six archives with program, completions and manual" archives
stage "checksums" checksums
stage "how the binaries were built" built
if [[ $(go env GOHOSTOS) == windows ]]; then skip "the version of a binary"; else stage "the stamped version" stamped; fi
if have dpkg-deb; then stage "deb" debs; else skip "deb: there is no dpkg-deb"; fi
if have rpm; then stage "rpm" rpms; else skip "rpm: there is no rpm"; fi
stage "the cask's hook" cask_guard
if have ruby; then stage "cask" cask; else skip "cask: there is no ruby"; fi
stage "a second snapshot, elsewhere" snapshot "$work/second"
stage "reproducible" same
echo "release check: all good in ${SECONDS}s"
