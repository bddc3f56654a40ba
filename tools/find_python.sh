#!/bin/sh
# Print the first Python that runs, out of the minor versions given: find_python.sh 11 12 13
for minor in "$@"; do
    for candidate in "python3.$minor" "$HOME"/.pyenv/versions/3."$minor"*/bin/python python3 python; do
        found=$("$candidate" -c "
import sys
if sys.version_info[:2] == (3, $minor):
    print(sys.executable)" 2>/dev/null) || continue
        if [ -n "$found" ]; then
            echo "$found"
            exit 0
        fi
    done
done
exit 1
