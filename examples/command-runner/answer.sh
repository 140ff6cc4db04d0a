#!/bin/sh
# Counts words for plumb: one JSON object with the prompt on stdin, one JSON object with the answer on stdout. The
# prompts of suite.jsonl have no quotes in them; a real program would use a JSON parser.
set -eu
prompt=$(sed 's/.*"prompt":"\([^"]*\)".*/\1/')
case $prompt in
"Count the words: "*)
	set -f # no file names for stars
	# shellcheck disable=SC2086 # the shell splits the words, which is the point
	set -- ${prompt#Count the words: }
	printf '{"output": "There are %d words.", "model": "sh", "costUsd": 0, "usage": {"inputTokens": %d, "outputTokens": 4}}\n' $# $#
	;;
*)
	printf '{"error": "only word counts are supported"}\n'
	;;
esac
