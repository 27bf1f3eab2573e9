#!/bin/bash
# The plugin as a file: it exports what Slurm looks up and nothing else, and needs no library beyond libc's.
set -euo pipefail
plugin=${1:-spank/.libs/spank_goodput.so}
exported=$(nm -D --defined-only "$plugin" | awk '{ print $3 }' | sed 's/@.*//' | sort)
stray=$(grep -Ev '^(plugin_(name|type|version)|spank_plugin_version|slurm_spank_[a-z_]+)$' <<<"$exported" || true)
[ -z "$stray" ] || { echo "exported, but not Slurm's to look up: $stray"; exit 1; }
for symbol in plugin_name plugin_type plugin_version spank_plugin_version slurm_spank_init slurm_spank_job_prolog \
              slurm_spank_init_post_opt slurm_spank_task_post_fork slurm_spank_task_exit slurm_spank_exit \
              slurm_spank_job_epilog; do
    grep -qx "$symbol" <<<"$exported" || { echo "not exported: $symbol"; exit 1; }
done
if nm -D "$plugin" | grep -q '__asan_'; then
    echo "sanitized build: its libraries are not checked"
    exit 0
fi
needed=$(ldd "$plugin" | awk '{ print $1 }')
foreign=$(grep -Ev '^(linux-(vdso|gate)|libc|libm|libgcc_s|libstdc\+\+|/lib.*/ld-linux|ld-linux)' <<<"$needed" || true)
[ -z "$foreign" ] || { echo "linked with more than libc: $foreign"; exit 1; }
# shellcheck disable=SC2015
readelf -dW "$plugin" | grep -q 'BIND_NOW\|NOW' && readelf -lW "$plugin" | grep -q GNU_RELRO ||
    { echo "not hardened: RELRO and BIND_NOW are expected"; exit 1; }
