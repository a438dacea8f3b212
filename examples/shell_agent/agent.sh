#!/bin/sh
# An agent as a program: the prompt comes on the standard input, the folder is the task's, what is printed is the answer.
# It knows three jobs. At the third it takes the first file that the shuffle puts on top: right in half of all cases.
set -eu
prompt=$(cat)
case $prompt in
*"How many lines"*) wc -l <notes.txt | tr -d ' ' ;;
*"Rename"*) mv draft.txt final.txt && echo "It is called final.txt now." ;;
*"Which file"*) ls config-*.txt | shuf | head -n 1 ;;
*) echo "I do not know how to do that." && exit 1 ;;
esac
