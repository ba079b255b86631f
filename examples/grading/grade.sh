#!/bin/sh
# Runs each program in a sandbox of its own, two at a time, and prints a grade for each.
#
#   grade.sh <input> <expected output> <program>...
set -eu

grade() {
  output=$(agent-sandbox claim grader --rm -i -- sh -c 'cat > program.py; echo "$1" | timeout 5 python3 program.py' sh "$1" <"$3" 2>/dev/null) && status=0 || status=$?
  if [ "$status" = 0 ] && [ "$output" = "$2" ]; then grade=passed
  elif [ "$status" = 0 ]; then grade="wrong answer: $output"
  elif [ "$status" = 124 ]; then grade="took too long"
  else grade="failed with status $status"
  fi
  printf '%-24s %s\n' "$(basename "$3")" "$grade"
}

if [ "$1" = --one ]; then
  shift
  grade "$@"
  exit
fi
input=$1 expected=$2
shift 2
printf '%s\0' "$@" | xargs -0 -n 1 -P 2 "$0" --one "$input" "$expected" | sort
