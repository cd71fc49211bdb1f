#!/usr/bin/env bash
# A Docker engine for a machine that has none running, for builds and runs without a network.
#
#   engine.sh start    use the engine that answers; else install and start one (Debian, as root)
#   engine.sh stop     stop the engine that "start" started; leave any other alone
#   engine.sh status   print the socket and exit 0 when an engine answers
#
# Environment:
#   DOCKER_HOST      unix:///var/run/docker.sock   where the engine is looked for, or made to listen
#   ENGINE_STATE     /run/anvil-engine             pid, lock and log of the engine that we start
#   ENGINE_DATA      /var/lib/anvil-engine         its images; never another engine's folder
#   ENGINE_DRIVER    overlay2 where it mounts on ENGINE_DATA, else vfs
#   ENGINE_WAIT      60                            seconds until it must answer
#   ENGINE_INSTALL   0 forbids apt-get
#
# The engine that we start has network, mount and PID namespaces of its own:
# - network: empty. Nothing here builds or runs with one, so nothing is missed, a container cannot
#   reach the machine's network by mistake, no packet filter is needed, and another engine's bridge
#   is safe (--bridge none deletes docker0 when it runs beside it).
# - PID: when dockerd dies, by SIGKILL too, the kernel ends containerd and the containers with it.
# - mount: overlay mounts go with the last process.
set -euo pipefail

HOST=${DOCKER_HOST:-unix:///var/run/docker.sock}
STATE=${ENGINE_STATE:-/run/anvil-engine}
DATA=${ENGINE_DATA:-/var/lib/anvil-engine}
WAIT=${ENGINE_WAIT:-60}
SOCKET=${HOST#unix://}
PIDFILE=$STATE/pid   # of the unshare that holds the namespaces
LOG=$STATE/dockerd.log

say() { printf 'engine.sh: %s\n' "$*" >&2; }

answers() {   # one HTTP request on the socket: no docker client needed
  python3 - "$SOCKET" <<'PY' 2>/dev/null
import socket, sys
with socket.socket(socket.AF_UNIX) as link:
    link.settimeout(5)
    link.connect(sys.argv[1])
    link.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
    sys.exit(0 if b" 200 " in link.recv(64) else 1)
PY
}

our_dockerd() {   # the pid of the dockerd that we started, if it lives
  local outer child
  outer=$(cat "$PIDFILE" 2>/dev/null) || return 1
  for child in $(cat "/proc/$outer/task/$outer/children" 2>/dev/null); do
    case $(readlink "/proc/$child/exe" 2>/dev/null) in */dockerd) echo "$child"; return 0 ;; esac
  done
  return 1
}

install_missing() {
  local want=()
  command -v python3 >/dev/null || want+=(python3)
  [ "$1" = with-engine ] && ! command -v dockerd >/dev/null && want+=(docker.io)
  command -v mmdebstrap >/dev/null || want+=(mmdebstrap)
  [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || want+=(debian-archive-keyring)
  if [ "$1" = with-engine ] && [ "$(cat /sys/module/apparmor/parameters/enabled 2>/dev/null)" = Y ]; then
    command -v apparmor_parser >/dev/null || want+=(apparmor)   # containers do not start without it
  fi
  [ ${#want[@]} -gt 0 ] || return 0
  if [ "${ENGINE_INSTALL:-1}" = 0 ] || [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    say "missing: ${want[*]} (install them, or run this as root on Debian)"
    [ "$1" != with-engine ]; return
  fi
  say "installing ${want[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${want[@]}" >/dev/null
}

mount_cgroups() {   # only where nothing is mounted, and only what the engine needs
  mountpoint -q /sys/fs/cgroup && return
  if awk '$1 == "devices" && $4 == 1 {found = 1} END {exit !found}' /proc/cgroups; then
    mount -t tmpfs -o mode=0755 cgroup /sys/fs/cgroup
    local group
    for group in cpu cpuacct cpuset memory devices freezer blkio pids; do
      mkdir -p "/sys/fs/cgroup/$group"
      mount -t cgroup -o "$group" cgroup "/sys/fs/cgroup/$group" 2>/dev/null || rmdir "/sys/fs/cgroup/$group"
    done
  else
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
  fi
}

storage_driver() {
  local probe="$DATA/.probe.$$" driver=vfs
  mkdir -p "$probe"/{lower,upper,work,merged}
  if mount -t overlay overlay \
    -o "lowerdir=$probe/lower,upperdir=$probe/upper,workdir=$probe/work" "$probe/merged" 2>/dev/null; then
    umount "$probe/merged"
    driver=overlay2
  fi
  rm -rf "$probe"
  [ $driver = overlay2 ] || say "overlay does not mount on $DATA: using vfs, which is ten times slower"
  echo $driver
}

start() {
  if answers; then
    say "using the engine on $SOCKET"
    install_missing beside-engine
    return 0
  fi
  case $HOST in unix://*) ;; *) say "DOCKER_HOST=$HOST does not answer, and only a unix socket can be made here"; return 1 ;; esac
  [ "$(id -u)" = 0 ] || { say "no engine on $SOCKET, and starting one needs root"; return 1; }
  mkdir -p "$STATE" "$DATA" "$(dirname "$SOCKET")"
  exec 9>"$STATE/lock"
  flock 9   # two starts at once: the second finds the first one's engine
  install_missing with-engine
  if answers; then say "using the engine on $SOCKET"; return 0; fi
  if our_dockerd >/dev/null; then say "our dockerd does not answer: stopping it"; stop; fi
  rm -rf --one-file-system "$PIDFILE" "$SOCKET" "$STATE/exec"
  mount_cgroups
  local began=${EPOCHREALTIME/./} outer i
  setsid unshare --net --mount --propagation slave --pid --fork --mount-proc --kill-child=KILL -- \
    dockerd --host "unix://$SOCKET" --data-root "$DATA" --exec-root "$STATE/exec" \
    --pidfile "$STATE/exec/dockerd.pid" --storage-driver "${ENGINE_DRIVER:-$(storage_driver)}" \
    --bridge none --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false \
    --userland-proxy=false --log-level warn </dev/null >"$LOG" 2>&1 9>&- &
  outer=$!
  echo "$outer" >"$PIDFILE"
  for ((i = 0; i < WAIT * 10; i++)); do
    if answers; then say "started dockerd in $(((${EPOCHREALTIME/./} - began) / 1000)) ms"; return 0; fi
    if ! kill -0 "$outer" 2>/dev/null; then
      say "dockerd ended while starting; the end of $LOG:"
      tail -n 15 "$LOG" >&2
      return 1
    fi
    sleep 0.1
  done
  say "dockerd did not answer within $WAIT s; the end of $LOG:"
  tail -n 15 "$LOG" >&2
  stop
  return 1
}

stop() {
  local inner outer i
  inner=$(our_dockerd) || { say "no engine of ours runs"; return 0; }
  outer=$(cat "$PIDFILE")
  kill -TERM "$inner"
  for ((i = 0; i < 300; i++)); do
    [ -n "$(readlink "/proc/$outer/exe" 2>/dev/null)" ] || break
    sleep 0.1
    [ $i != 200 ] || { say "it does not stop: SIGKILL"; kill -KILL "$inner" 2>/dev/null || true; }
  done
  rm -rf --one-file-system "$PIDFILE" "$SOCKET" "$STATE/exec"
  say "stopped dockerd"
}

case ${1:-} in
  start) start ;;
  stop) stop ;;
  status) if answers; then echo "$SOCKET"; else say "no engine answers on $SOCKET"; exit 1; fi ;;
  *) say "usage: engine.sh start|stop|status"; exit 2 ;;
esac
