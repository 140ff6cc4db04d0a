#!/bin/sh
# Poses as codex for the suites beside it, and writes what codex writes. With PART=worker it does the work; with
# PART=talker it only says that it did.

for prompt; do :; done # the last argument
[ "$prompt" = --version ] && { echo "codex-cli 0.169.0"; exit; }

item=0
emit() { printf '%s\n' "$1"; }
# quote prints standard input as a JSON string.
quote() { awk '{ gsub(/\\/, "\\\\"); gsub(/"/, "\\\""); gsub(/\t/, "\\t"); text = text $0 "\\n" } END { printf "\"%s\"", text }'; }
completed() {
	item=$((item + 1))
	emit "{\"type\":\"item.completed\",\"item\":{\"id\":\"item_$item\",$1}}"
}
say() { completed "\"type\":\"agent_message\",\"text\":\"$1\""; }
# run runs a command, and reports it.
run() {
	output=$(sh -c "$1" 2>&1)
	code=$?
	completed "\"type\":\"command_execution\",\"command\":$(printf "/bin/sh -lc '%s'" "$1" | quote | sed 's/\\n"$/"/'),\"aggregated_output\":$(printf '%s\n' "$output" | quote),\"exit_code\":$code,\"status\":\"completed\""
}

emit '{"type":"thread.started","thread_id":"01a1f818-4277-7c73-a07b-9d85487cbe10"}'
emit '{"type":"turn.started"}'
case "$PART: $prompt" in
"worker: Write"*)
	run "cat .agents/skills/release-notes/SKILL.md"
	run "sh changes.sh"
	{
		printf '# Changelog\n\n## 1.3.0\n\n'
		sh changes.sh | sed -n 's/^user */- /p'
		tail -n +2 CHANGELOG.md
	} >new.md
	mv new.md CHANGELOG.md
	completed "\"type\":\"file_change\",\"changes\":[{\"path\":\"$PWD/CHANGELOG.md\",\"kind\":\"update\"}],\"status\":\"completed\""
	say "CHANGELOG.md has a section for 1.3.0."
	;;
"worker: Which"*)
	run "cat VERSION"
	say "1.2.0 was released last."
	;;
"worker: Set"*)
	run "echo 1.3.0 >VERSION"
	say "The version is 1.3.0."
	;;
*)
	say "Done! I ran sh changes.sh, wrote CHANGELOG.md and set VERSION to 1.3.0."
	;;
esac
emit '{"type":"turn.completed","usage":{"input_tokens":1000,"cached_input_tokens":400,"output_tokens":50,"reasoning_output_tokens":10}}'
