#!/bin/sh
# Exit code 0: healthy; 1: a problem, named on stdout. For cron, a systemd timer or a health check.
#
#   INDEX_URL=http://localhost:42069 LABELS_URL=http://localhost:3223 MAX_DISTANCE=120 sh examples/monitor/monitor.sh
set -u
index=${INDEX_URL:-http://localhost:42069}
labels=${LABELS_URL:-http://localhost:3223}
distance=${MAX_DISTANCE:-120}
problems=0

check() { # what, URL
  status=$(curl -s -o /dev/null -m 5 -w '%{http_code}' "$2")
  if [ "$status" = 200 ]; then echo "ok       $1"; else echo "PROBLEM  $1: $2 answers $status"; problems=1; fi
}

check "process alive" "$index/health"
check "backfill complete" "$index/ready"
check "every chain within $distance s" "$index/amirealtime?maxWorstCaseDistance=$distance"
check "queries answered" "$index/subgraph?query=%7B_meta%7Bblock%7Bnumber%7D%7D%7D"
check "labels served" "$labels/ready"
exit $problems
