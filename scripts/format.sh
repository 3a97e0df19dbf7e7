#!/usr/bin/env bash
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
#
# Formats all C++ sources with the repository's .clang-format.
#
#   scripts/format.sh           rewrite what is not formatted
#   scripts/format.sh --check   change nothing; name what is not formatted and exit 1
#
# Releases of clang-format differ in details, so only the pinned one decides a check; with another one it is skipped (exit 77).
set -euo pipefail
pinned=14
cd "$(dirname "$0")/.."

case ${1:-} in
  "") mode="write" ;;
  --check) mode="check" ;;
  --help | -h) sed -n '5,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) echo "format: unknown argument $1; --help lists them." >&2; exit 2 ;;
esac

tool=${CLANG_FORMAT:-}
if [ -z "$tool" ]; then
  for tool in "clang-format-$pinned" clang-format; do if command -v "$tool" >/dev/null; then break; fi; done
fi
if ! version=$("$tool" --version 2>/dev/null); then
  echo "format: no clang-format found; scripts/install-deps.sh installs it." >&2
  exit 77
fi
if [[ ! $version =~ version\ $pinned\. ]]; then
  echo "format: clang-format $pinned is the one that counts, this is: $version." >&2
  if [ $mode = check ]; then exit 77; fi
fi

sources() {
  local folder folders=()
  for folder in include src tests bench; do if [ -d "$folder" ]; then folders+=("$folder"); fi; done
  find "${folders[@]}" -type f \( -name '*.cpp' -o -name '*.hpp' \) -print0
}
jobs=$(nproc 2>/dev/null || echo 2)
if [ $mode = write ]; then
  sources | xargs -0 -r -n 8 -P "$jobs" "$tool" -i
elif ! sources | xargs -0 -r -n 8 -P "$jobs" "$tool" --dry-run -Werror --ferror-limit=1; then
  echo "format: the files above are not formatted; scripts/format.sh does it." >&2
  exit 1
fi
