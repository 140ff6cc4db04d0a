#!/usr/bin/env bash
# Installs the agent CLIs that the tests run, each in the version that the tests were made for, from npm. It puts the native
# binary of the platform's own package into $PLUMB_AGENTS_DIR/bin where there is one, so that no npm wrapper stands between the
# agent and a signal, and runs no install scripts. What is there already stays as it is: run it as often as you like.
#
#   .ci/agents.sh [AGENT...]      default: codex claude opencode copilot gemini qwen
#   PLUMB_AGENTS_DIR              where to; default $HOME/.cache/plumb/ci-agents
#
# It takes about 600 MB of download and 1.8 GB of disk. It prints the directory to add to PATH as its last line.
set -euo pipefail

dir=${PLUMB_AGENTS_DIR:-$HOME/.cache/plumb/ci-agents}
mkdir -p "$dir/bin"
dir=$(cd "$dir" && pwd)

say() { printf 'agents: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

case "$(uname -s)-$(uname -m)" in
Linux-x86_64) platform=linux-x64 triple=x86_64-unknown-linux-musl ;;
Linux-aarch64) platform=linux-arm64 triple=aarch64-unknown-linux-musl ;;
Darwin-x86_64) platform=darwin-x64 triple=x86_64-apple-darwin ;;
Darwin-arm64) platform=darwin-arm64 triple=aarch64-apple-darwin ;;
*) die "no packages for $(uname -s) on $(uname -m)" ;;
esac
if [ "${platform%-*}" = linux ] && ldd --version 2>&1 | grep -qi musl; then
	die "the packages chosen here are for glibc, and this system has musl"
fi

# apt installs Debian packages, as root or with sudo.
apt() {
	command -v apt-get >/dev/null || die "$1 is missing, and there is no apt-get to install it with"
	local sudo=
	[ "$(id -u)" = 0 ] || sudo=sudo
	say "apt-get install $*"
	DEBIAN_FRONTEND=noninteractive $sudo apt-get install -qq -y --no-install-recommends "$@" >&2 ||
		{ $sudo apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive $sudo apt-get install -qq -y --no-install-recommends "$@" >&2; } ||
		die "apt-get could not install $*"
}

# install NAME VERSION PACKAGE PROGRAM [NODE]: NAME in the bin directory becomes PROGRAM of the npm package. With NODE, that
# version of Node runs it, whatever version this machine has.
install() {
	local name=$1 version=$2 package=$3 program=$4 node=${5:-}
	local home=$dir/$name-$version-$platform
	if [ ! -e "$home/installed" ]; then
		say "$name $version: npm install $package"
		rm -rf "$home"
		mkdir -p "$home"
		printf '{"name":"plumb-ci-%s","private":true}\n' "$name" >"$home/package.json"
		local try
		for try in 1 2 3; do
			npm install --prefix "$home" --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error "$package" ${node:+"node-$platform@$node"} >&2 && break
			[ "$try" = 3 ] && die "$name: npm could not install $package"
			say "$name: npm failed; trying again"
			sleep $((try * 5))
		done
		touch "$home/installed"
	fi
	[ -f "$home/node_modules/$program" ] || die "$name: $package has no $program"
	chmod +x "$home/node_modules/$program"
	if [ -n "$node" ]; then
		rm -f "$dir/bin/$name"
		printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$home/node_modules/node-$platform/bin/node" "$home/node_modules/$program" >"$dir/bin/$name"
		chmod +x "$dir/bin/$name"
	else
		ln -sfn "$home/node_modules/$program" "$dir/bin/$name"
	fi
	verify "$name" "$version"
}

# verify NAME VERSION: the program starts, and is the one that was asked for. It gets a home of its own, since some agents
# write to it even then.
verify() {
	local got home
	home=$(mktemp -d)
	got=$(HOME=$home XDG_CACHE_HOME=$home XDG_CONFIG_HOME=$home XDG_DATA_HOME=$home XDG_STATE_HOME=$home TMPDIR=$home \
		CODEX_HOME=$home COPILOT_HOME=$home COPILOT_AUTO_UPDATE=false GEMINI_CLI_HOME=$home \
		timeout 120 "$dir/bin/$1" --version </dev/null 2>&1) || { rm -rf "$home"; die "$1 --version failed: $got"; }
	rm -rf "$home"
	case "$got" in
	*"$2"*) say "$1 $2 in $dir/bin" ;;
	*) die "$1 --version says \"$got\", not $2" ;;
	esac
}

command -v npm >/dev/null || apt nodejs npm

for agent in "${@:-codex claude opencode copilot gemini qwen}"; do
	for one in $agent; do
		case $one in
		codex) install codex 0.169.0 "@openai/codex-$platform@npm:@openai/codex@0.169.0-$platform" "@openai/codex-$platform/vendor/$triple/bin/codex" ;;
		claude) install claude 2.1.328 "@anthropic-ai/claude-code-$platform@2.1.328" "@anthropic-ai/claude-code-$platform/claude" ;;
		opencode)
			command -v rg >/dev/null || apt ripgrep # its skill tool fails without
			install opencode 1.18.33 "opencode-$platform@1.18.33" "opencode-$platform/bin/opencode"
			;;
		copilot) install copilot 1.0.102 "@github/copilot-$platform@1.0.102" "@github/copilot-$platform/copilot" ;;
		gemini) install gemini 0.61.0 "@google/gemini-cli@0.61.0" "@google/gemini-cli/bundle/gemini.js" ;;
		qwen) install qwen 0.24.4 "@qwen-code/qwen-code@0.24.4" "@qwen-code/qwen-code/cli-entry.js" 22.23.3 ;; # it needs Node 22
		*) die "unknown agent $one" ;;
		esac
	done
done
printf '%s\n' "$dir/bin"
