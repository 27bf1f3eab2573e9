#!/bin/bash
# Sets up the controller at its start: folders, goodput.conf, the service, one line in plugstack.conf. It needs no network and
# no Ansible. It always exits 0 and every step has a time limit, so that it cannot stop the cluster. A second run changes nothing.
#
#   configure.sh --settings BASE64 [--root FOLDER]
#
# BASE64 encodes lines of NAME=VALUE; goodput_conf may occur several times. With --root, which tests use, all files are below
# FOLDER, and users and services of this machine do not change.
set -u

readonly step_seconds=30
readonly user=goodput
root=
service_changed=no
declare -a goodput_conf=()
declare -A given=(
    [plugin_dir]=/usr/local/lib/slurm
    [plugstack_conf]=/usr/local/etc/slurm/plugstack.conf
    [plugstack_line]="optional /usr/local/lib/slurm/spank_goodput.so spool=/var/spool/slurm-goodput socket=@goodput"
    [spool_dir]=/var/spool/slurm-goodput
    [shared_spool]=/opt/apps/.slurm-goodput-spool
    [database_dir]=/var/spool/slurm/goodput
    [database_copy_dir]=""
    [listen]=0.0.0.0:9645
)

give_up() {
    echo "slurm-goodput is not configured, the cluster starts without it: $1" >&2
    exit 0
}

# step NAME COMMAND...: runs COMMAND; if it fails or takes too long, gives up with NAME and the command's output.
step() {
    local name=$1 said status
    shift
    said=$(timeout --kill-after=5 "$step_seconds" "$@" 2>&1)
    status=$?
    case $status in
    0) ;;
    124 | 137) give_up "$name: no answer within $step_seconds s" ;;
    *) give_up "$name: ${said:-exit status $status}" ;;
    esac
}

# read_settings TEXT: lines of NAME=VALUE.
read_settings() {
    local line name
    while IFS= read -r line; do
        name=${line%%=*}
        if [ "$name" = goodput_conf ]; then
            goodput_conf+=("${line#*=}")
        elif [ -z "$line" ]; then
            continue
        elif [ -n "$name" ] && [ -n "${given[$name]+known}" ]; then
            given[$name]=${line#*=}
        else
            give_up "unknown setting $name"
        fi
    done <<<"$1"
}

# make_folder NAME FOLDER OWNER MODE
make_folder() {
    local owner=()
    [ -n "$root" ] || owner=(--owner "$3" --group "$3")
    step "$1" install --directory "${owner[@]}" --mode "$4" "$root$2"
}

# write_file NAME FILE: replaces FILE atomically with standard input if they differ. Returns 1 if nothing changed.
write_file() {
    local name=$1 file new
    file=$(realpath --canonicalize-missing "$root$2")
    new=$(mktemp "$file.XXXXXX" 2>&1) || give_up "$name: $new"
    if ! cat >"$new"; then
        rm -f "$new"
        give_up "$name: $new cannot be written"
    fi
    if cmp --silent "$new" "$file"; then
        rm -f "$new"
        return 1
    fi
    if [ -e "$file" ]; then
        chmod --reference="$file" "$new" && chown --reference="$file" "$new"
    else
        chmod 0644 "$new"
    fi
    step "$name" mv --force "$new" "$file"
    echo "slurm-goodput: wrote $2"
}

conf_text() {
    echo "# Written by slurm-goodput's Cluster Toolkit module at the controller's start."
    echo "spool = ${given[spool_dir]}"
    echo "shared_spool = ${given[shared_spool]}"
    echo "database = ${given[database_dir]}/goodput.db"
    echo "listen = ${given[listen]}"
    [ -z "${given[database_copy_dir]}" ] || echo "database_copy = ${given[database_copy_dir]}"
    [ ${#goodput_conf[@]} -eq 0 ] || printf '%s\n' "${goodput_conf[@]}"
}

# Puts our line before those of other plugins: after pyxis, our plugin would see the end of a task only when the container is
# removed. Other lines stay as they are.
plugstack_text() {
    local file=$root${given[plugstack_conf]}
    [ -e "$file" ] || file=/dev/null
    LINE=${given[plugstack_line]} awk '
        /^[ \t]*(optional|required)[ \t]+([^ \t]*\/)?spank_goodput\.so([ \t]|$)/ { next }
        /^[ \t]*(optional|required|include)[ \t]/ && !placed++ { print ENVIRON["LINE"] }
        { print }
        END { if (!placed) print ENVIRON["LINE"] }' "$file"
}

make_user() {
    timeout "$step_seconds" getent passwd "$user" >/dev/null ||
        step "Create the user that answers queries" useradd --system --user-group --no-create-home --home-dir /nonexistent \
            --shell /usr/sbin/nologin "$user"
}

# Does not wait for the service, which starts after slurmctld and the network.
start_service() {
    local verb=start
    [ "$service_changed" = no ] || verb=restart
    step "Reload systemd's units" systemctl daemon-reload
    step "Enable goodputd at boot" systemctl enable goodputd-controller.service
    step "Start goodputd" systemctl --no-block "$verb" goodputd-controller.service
}

configure() {
    local plugin=${given[plugin_dir]}/spank_goodput.so
    local unit=/etc/systemd/system/goodputd-controller.service.d
    local writable="-${given[database_dir]} -${given[shared_spool]}${given[database_copy_dir]:+ -${given[database_copy_dir]}}"
    [ -e "$root$plugin" ] || give_up "$plugin is not in this image; put install_runner into the image build"
    [ -n "$root" ] || make_user
    make_folder "Create the folder of the database" "${given[database_dir]}" "$user" 0750
    make_folder "Create the shared spool" "${given[shared_spool]}" root 0700
    make_folder "Create the folder of goodput.conf" /etc/slurm-goodput root 0755
    write_file "Write goodput.conf" /etc/slurm-goodput/goodput.conf < <(conf_text) && service_changed=yes
    if [ -z "$root" ]; then
        make_folder "Create the drop-in folder of goodputd's unit" "$unit" root 0755
        write_file "Give goodputd write access to its folders" "$unit/folders.conf" < \
            <(printf '[Service]\nReadWritePaths=%s\n' "$writable") && service_changed=yes
        start_service
    fi
    # Last, because every step loads the plugin from now on.
    write_file "Load the plugin in plugstack.conf" "${given[plugstack_conf]}" < <(plugstack_text)
    echo "slurm-goodput: configured"
}

while [ $# -gt 0 ]; do
    case $1 in
    --settings)
        settings=$(base64 --decode <<<"${2:-}" 2>/dev/null) || give_up "--settings is not base64"
        read_settings "$settings"
        ;;
    --root) root=${2:-} ;;
    *) give_up "unknown argument $1" ;;
    esac
    shift 2 2>/dev/null || shift
done
configure
exit 0
