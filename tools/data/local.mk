# Data files: configuration, completion, dashboard, units.
dist_doc_DATA += tools/data/goodput.conf.example

# The folders that bash-completion, fish and zsh search.
completiondir = $(datadir)/bash-completion/completions
dist_completion_DATA = tools/data/completion/sgoodput
fishdir = $(datadir)/fish/vendor_completions.d
dist_fish_DATA = tools/data/completion/sgoodput.fish
zshdir = $(datadir)/zsh/site-functions
dist_zsh_DATA = tools/data/completion/_sgoodput

# A dashboard of the metrics.
grafanadir = $(pkgdatadir)/grafana
dist_grafana_DATA = tools/data/grafana/slurm-goodput-fleet.json tools/data/grafana/slurm-goodput.json

# A profile for AppArmor, which an administrator may load.
apparmordir = $(pkgdatadir)/apparmor
dist_apparmor_DATA = tools/data/apparmor/goodputd

# A rule for SELinux, which an administrator may load.
selinuxdir = $(pkgdatadir)/selinux
dist_selinux_DATA = tools/data/selinux/goodputd.cil

# Alerting rules for Prometheus.
prometheusdir = $(pkgdatadir)/prometheus
dist_prometheus_DATA = tools/data/prometheus/slurm-goodput.rules.yml

# systemd units.
units = tools/data/units/goodputd.service tools/data/units/goodputd-controller.service tools/data/units/goodput-cloud.service \
  tools/data/units/goodput-events.service tools/data/units/goodput-fleet.service tools/data/units/goodput-nvml@.service \
  tools/data/units/goodput-telemetry.service
sockets = tools/data/units/goodputd.socket tools/data/units/goodputd-kernel.socket tools/data/units/goodput-nvml.socket
EXTRA_DIST += $(units:=.in) $(sockets)
if SYSTEMD_UNITS
dist_systemdsystemunit_DATA = $(sockets)
nodist_systemdsystemunit_DATA = $(units)
endif
CLEANFILES += $(units)
%.service: %.service.in
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sed -e 's|@sbindir[@]|$(sbindir)|g' -e 's|@bindir[@]|$(bindir)|g' -e 's|@pkglibexecdir[@]|$(pkglibexecdir)|g' $< > $@.new && mv $@.new $@

# The user and the folders that the units need. systemd-sysusers and systemd-tmpfiles also read /usr/local/lib.
EXTRA_DIST += tools/data/units/sysusers.d/slurm-goodput.conf tools/data/units/tmpfiles.d/slurm-goodput.conf
if SYSUSERS
dist_sysusers_DATA = tools/data/units/sysusers.d/slurm-goodput.conf
endif
if TMPFILES
dist_tmpfiles_DATA = tools/data/units/tmpfiles.d/slurm-goodput.conf
endif
