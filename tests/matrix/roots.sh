# Functions for roots of other releases, for tests/matrix and tests/packages. Sourced by bash; $top is the source tree.
# shellcheck shell=bash
: "${top:?is the source tree}"

# Mounts, and except for `among` also processes, are in separate namespaces, which the kernel removes when a command in a root
# ends, for whatever reason.

# debian_mirror: prints the Debian archive that apt uses; nothing if it uses none.
debian_mirror() {
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(ORIGIN)|$(REPO_URI)|$(COMPONENT)' 'Created-By: Packages' |
        sed -n 's/^Debian|\(.*\)|main$/\1/p' | grep -v -- '-security' | head -n 1
}

# ubuntu_mirror: prints the Ubuntu archive that apt uses, otherwise the public one.
ubuntu_mirror() {
    local found
    # shellcheck disable=SC2016
    found=$(apt-get indextargets --format '$(ORIGIN)|$(REPO_URI)|$(COMPONENT)' 'Created-By: Packages' |
        sed -n 's/^Ubuntu|\(.*\)|main$/\1/p' | grep -v security | head -n 1)
    echo "${found:-http://archive.ubuntu.com/ubuntu/}"
}

# ubuntu_keyring FILE: writes the key that signs Ubuntu's releases to FILE. Debian has no package of it, so Ubuntu's package is
# downloaded, and only the key with this fingerprint is used.
ubuntu_key=F6ECB3762474EDA9D21B7022871920D1991BC93C
ubuntu_keyring() {
    local have=/usr/share/keyrings/ubuntu-archive-keyring.gpg work
    if [ -e $have ]; then cp $have "$1"; return; fi
    work=$(mktemp -d)
    if curl -fsS -m 120 -o "$work/keyring.deb" "$(ubuntu_mirror)pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb" &&
        dpkg-deb -x "$work/keyring.deb" "$work/files" &&
        gpg --homedir "$work" --batch -q --no-default-keyring --keyring "$work/files$have" --export "$ubuntu_key" >"$work/key" &&
        [ -s "$work/key" ]; then
        mv "$work/key" "$1"
        rm -rf "$work"
        return
    fi
    rm -rf "$work"
    echo "Ubuntu's signing key could not be had from $(ubuntu_mirror)" >&2
    return 1
}

# make_root SUITE DIR: creates a minimal system of that Debian or Ubuntu release, once (DIR/.made marks it as complete). On
# failure prints the reason and the path of debootstrap's log in one line.
make_root() {
    local suite=$1 dir=$2 from pockets components=main known=()
    [ -e "$dir/.made" ] && return
    command -v debootstrap >/dev/null || "$top/tools/deps" matrix
    mkdir -p "$(dirname "$dir")"
    rm -rf "$dir"
    case $suite in
        jammy | noble | plucky)
            from=$(ubuntu_mirror)
            components=main,universe
            ubuntu_keyring "$dir.gpg" || return 1
            known=(--keyring="$dir.gpg")
            pockets=("$suite" "$suite-updates" "$suite-security")
            ;;
        *)
            from=$(debian_mirror)
            [ -n "$from" ] || { echo "apt has no Debian archive configured to take $suite from" >&2; return 1; }
            pockets=("$suite")
            ;;
    esac
    # debootstrap has no script for newer Ubuntu releases; the same script works for all.
    local script=()
    if [ "$components" != main ] && [ ! -e "/usr/share/debootstrap/scripts/$suite" ]; then script=(gutsy); fi
    echo "$suite: making a root from $from"
    unshare --mount --pid --fork --kill-child --propagation private debootstrap --variant=minbase --components="$components" \
        "${known[@]}" "$suite" "$dir" "$from" "${script[@]}" >"$dir.debootstrap.log" 2>&1 </dev/null || {
        echo "debootstrap of $suite from $from failed (log: $dir.debootstrap.log): $(tail -n 1 "$dir.debootstrap.log")" >&2
        return 1
    }
    printf "deb $from %s ${components/,/ }\n" "${pockets[@]}" >"$dir/etc/apt/sources.list"
    # sid's index expires; a snapshot mirror may be older.
    echo 'Acquire::Check-Valid-Until "false";' >"$dir/etc/apt/apt.conf.d/90snapshot"
    touch "$dir/.made"
}

# inside DIR COMMAND: runs COMMAND with bash in its own mount and PID namespaces; all its processes end with it.
inside() { enter "$1" "$2" --pid; }

# among DIR COMMAND: the same without a PID namespace, because goodputd needs the process ids of the kernel's ring buffer.
# Call end_those_in afterwards.
among() { enter "$1" "$2"; }

# end_those_in DIR: ends all processes whose root is DIR.
end_those_in() {
    local process left
    while :; do
        left=()
        for process in /proc/[0-9]*; do
            if [ "$process/root" -ef "$1" ]; then left+=("${process#/proc/}"); fi
        done
        [ ${#left[@]} -gt 0 ] || return 0
        kill -9 "${left[@]}" 2>/dev/null || true
        sleep 0.1
    done
}

# enter DIR COMMAND [NAMESPACE]: common part of inside and among.
enter() {
    local dir=$1 command=$2
    shift 2
    cp -L /etc/resolv.conf /etc/hosts "$dir/etc/" 2>/dev/null || true
    # shellcheck disable=SC2016
    unshare --mount "$@" --fork --kill-child --propagation private /bin/bash -c '
        set -e
        mount --bind "$1" "$1"
        mount -t proc proc "$1/proc"
        mount --rbind /dev "$1/dev"
        mount --rbind /sys "$1/sys"
        # A process with a changed root may not create user namespaces.
        cd "$1"
        pivot_root . .
        umount -l .
        exec /bin/bash -c "$2"' inside "$dir" "$command" </dev/null
}
