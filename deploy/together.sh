#!/usr/bin/env bash
# Run a command as one of several processes that train together, and again as long as another one of them is lost.
#   deploy/together.sh INDEX HOST:PORT,HOST:PORT,… COMMAND…
# INDEX: which of the addresses is that of this process, from 0. The first one writes.
set -u
index=$1 addresses=$2
shift 2
TF_CONFIG="{\"cluster\": {\"worker\": [\"${addresses//,/\", \"}\"]}, \"task\": {\"type\": \"worker\", \"index\": $index}}"
export TF_CONFIG
attempts=${ATTEMPTS:-10}
# Schedulers signal this shell alone, which passes it on; in a session of its own the command hears it once, not twice.
child= asked=
pass_on() {
  asked=$1
  [ -z "$child" ] || kill "-$asked" "$child" 2>/dev/null
}
trap 'pass_on TERM' TERM INT
trap 'pass_on HUP' HUP
for ((attempt = 1; ; attempt++)); do
  setsid "$@" &
  early=$asked child=$! # one command, as traps run between commands: what came before it is passed on here, what comes later there
  [ -z "$early" ] || kill "-$early" "$child"
  wait "$child"
  code=$?
  while kill -0 "$child" 2>/dev/null; do # a signal ended the waiting, not the command
    wait "$child"
    code=$?
  done
  child=
  # 75: another process did not come, or was lost. Everything else is for whoever started us, as is the end that was asked for.
  if ((code != 75 || attempt == attempts)) || [ -n "$asked" ]; then
    exit "$code"
  fi
  echo "together.sh: attempt $((attempt + 1)) of $attempts" >&2
done
