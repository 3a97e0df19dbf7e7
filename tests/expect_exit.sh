#!/bin/sh
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
# expect_exit.sh CODE SECONDS TEXT COMMAND...: passes when the command ends within SECONDS with exit code CODE and prints TEXT.
code=$1 seconds=$2 text=$3
shift 3
output=$(timeout "$seconds" "$@" 2>&1)
got=$?
printf '%s\n' "$output"
if [ "$got" -ne "$code" ]; then
  echo "expected exit code $code, got $got (124: not over after $seconds s)"
  exit 1
fi
case $output in
  *"$text"*) exit 0 ;;
esac
echo "the output lacks: $text"
exit 1
