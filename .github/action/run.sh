#!/usr/bin/env bash
# The steps of action.yml. All inputs come as environment variables and none as shell code, so
# that a text from a pull request cannot become a command.
#
#   run.sh install   downloads the release IN_VERSION, checks its SHA-256, and puts it on the PATH
#   run.sh key       prints the key of the cache of answers, a hash of the suites
#   run.sh run       runs the suites; it succeeds whatever they say, and outputs the exit code
#   run.sh finish    ends the job with that exit code
set -euo pipefail

die() {
	printf '::error title=plumb::%s\n' "$(escape "$*")"
	exit 2
}

# escape TEXT: TEXT as the data of a workflow command, which must not span lines. (macOS has bash
# 3.2.)
escape() {
	local text=$1 percent=%25 return=%0D newline=%0A
	text=${text//[%]/$percent}
	text=${text//$'\r'/$return}
	printf '%s' "${text//$'\n'/$newline}"
}

# output NAME VALUE: sets an output of the step. VALUE must be one line, or it could set other
# outputs.
output() {
	case $2 in *$'\n'* | *$'\r'*) die "the output $1 has more than one line" ;; esac
	printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"
}

# split TEXT: makes the array items of the lines of TEXT that are not blank, without the space
# around them.
items=()
split() {
	local line
	items=()
	while IFS= read -r line || [ -n "$line" ]; do
		line=${line%$'\r'}
		line=${line#"${line%%[![:space:]]*}"}
		line=${line%"${line##*[![:space:]]}"}
		[ -z "$line" ] || items+=("$line")
	done <<<"$1"
}

# sha256 prints the hash of standard input.
sha256() {
	if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | awk '{ print $1 }'
}

download() {
	curl --fail --silent --show-error --location --retry 3 --proto '=https,file' --output "$2" "$1" || die "cannot download $1"
}

# enter changes to the directory of the suites.
enter() {
	cd -- "${IN_WORKING_DIRECTORY:-.}" || die "there is no directory ${IN_WORKING_DIRECTORY:-.}"
}

install_plumb() {
	local releases=${PLUMB_RELEASES:-https://github.com/plumb-eval/plumb/releases}
	local version=${IN_VERSION:-latest} system arch extension=tar.gz
	if [ -n "${IN_PROGRAM:-}" ]; then
		[ -x "$IN_PROGRAM" ] || die "the input program names $IN_PROGRAM, which is not a program"
		output program "$IN_PROGRAM"
		return
	fi
	if [ "$version" = latest ]; then # GitHub redirects to .../releases/tag/vVERSION
		version=$(curl --fail --silent --show-error --location --retry 3 --proto '=https' --output /dev/null \
			--write-out '%{url_effective}' "$releases/latest") || die "cannot find the latest release at $releases"
		version=${version##*/}
	fi
	version=${version#v}
	[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$ ]] || die "the input version must be \"latest\" or a version such as 0.1.0, not \"$version\""
	case ${RUNNER_OS:-} in
	Linux) system=linux ;;
	macOS) system=darwin ;;
	Windows) system=windows extension=zip ;;
	*) die "there is no plumb for the system \"${RUNNER_OS:-}\"" ;;
	esac
	case ${RUNNER_ARCH:-} in
	X64) arch=amd64 ;;
	ARM64) arch=arm64 ;;
	*) die "there is no plumb for the architecture \"${RUNNER_ARCH:-}\"" ;;
	esac

	local name=plumb_${version}_${system}_$arch.$extension
	local home=$RUNNER_TEMP/plumb-$version
	rm -rf "$home"
	mkdir -p "$home"
	download "$releases/download/v$version/$name" "$home/$name"
	download "$releases/download/v$version/checksums.txt" "$home/checksums.txt"
	local want have
	want=$(awk -v name="$name" '$2 == name || $2 == "*" name { print $1 }' "$home/checksums.txt")
	have=$(sha256 <"$home/$name")
	[ -n "$want" ] || die "checksums.txt of version $version does not list $name"
	[ "$want" = "$have" ] || die "the SHA-256 of $name is $have, and checksums.txt has $want"
	if [ "$extension" = zip ]; then unzip -q "$home/$name" -d "$home"; else tar -xzf "$home/$name" -C "$home"; fi
	rm "$home/$name"
	printf '%s\n' "$home" >>"$GITHUB_PATH"
	if [ "$system" = windows ]; then output program "$home/plumb.exe"; else output program "$home/plumb"; fi
}

# key outputs the key of the cache: a hash over the hash of each suite, or over the config where
# it names the suites. A published suite has no file; its name is enough, because its content
# never changes.
key() {
	enter
	local suite hash
	split "${IN_SUITES:-}"
	if [ ${#items[@]} = 0 ]; then
		hash=$({ cat plumb.yaml plumb.yml plumb.config.* 2>/dev/null || true; } | sha256)
	else
		hash=$(for suite in "${items[@]}"; do
			"$PROGRAM" suite hash -- "$suite" 2>/dev/null || printf '%s\n' "$suite"
		done | sha256)
	fi
	output key "plumb-answers-${hash:0:32}"
}

run() {
	enter
	local status=0 reports=$RUNNER_TEMP/plumb-reports
	rm -rf "$reports"
	mkdir -p "$reports"
	output reports "$reports"
	local command=("$PROGRAM" run --report terminal --report github-actions
		--report "junit:$reports/{suite}.junit.xml" --report "html:$reports/{suite}.html")
	if [ "${IN_CACHE:-true}" = true ]; then command+=(--cache on); fi
	split "${IN_ARGS:-}"
	command+=(${items[@]+"${items[@]}"} --)
	split "${IN_SUITES:-}"
	command+=(${items[@]+"${items[@]}"})
	"${command[@]}" || status=$?
	output exit-code "$status"
	case $status in
	0 | 1 | 3 | 130 | 143) ;; # the report is in the summary
	*) printf '## Plumb did not run\n\nIt ended with exit code %s. The log of this step has the reason.\n' "$status" >>"$GITHUB_STEP_SUMMARY" ;;
	esac
}

finish() {
	local status=${EXIT_CODE:-}
	[[ $status =~ ^[0-9]+$ ]] || die 'plumb did not run'
	if [ "$status" = 3 ] && [ "${IN_FAIL_ON_UNMEASURED:-false}" != true ]; then
		echo '::warning title=plumb::nothing failed, but some cases could not be measured'
		status=0
	fi
	exit "$status"
}

case ${1:-} in
install) install_plumb ;;
key) key ;;
run) run ;;
finish) finish ;;
*) die "unknown step \"${1:-}\"" ;;
esac
