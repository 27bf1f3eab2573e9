# The timeline and its metrics: pure, no I/O.
noinst_LTLIBRARIES += tools/libtimeline.la
tools_libtimeline_files = \
  tools/timeline/allocated.cc tools/timeline/allocated.h \
  tools/timeline/allocation.cc tools/timeline/allocation.h \
  tools/timeline/attempt_order.cc tools/timeline/attempt_order.h \
  tools/timeline/attempt_painter.cc tools/timeline/attempt_painter.h \
  tools/timeline/bucket.cc tools/timeline/bucket.h \
  tools/timeline/checkpoint_files.cc tools/timeline/checkpoint_files.h \
  tools/timeline/clip.cc tools/timeline/clip.h \
  tools/timeline/exclude.cc tools/timeline/exclude.h \
  tools/timeline/coarse.cc tools/timeline/coarse.h \
  tools/timeline/facts.h \
  tools/timeline/goodput.cc tools/timeline/goodput.h \
  tools/timeline/hang.cc tools/timeline/hang.h \
  tools/timeline/host_word.cc tools/timeline/host_word.h \
  tools/timeline/incarnations.cc tools/timeline/incarnations.h \
  tools/timeline/interruption.cc tools/timeline/interruption.h \
  tools/timeline/kept.cc tools/timeline/kept.h \
  tools/timeline/last_step.cc tools/timeline/last_step.h \
  tools/timeline/ledger.cc tools/timeline/ledger.h \
  tools/timeline/node_loss.cc tools/timeline/node_loss.h \
  tools/timeline/painter.cc tools/timeline/painter.h \
  tools/timeline/placed_steps.cc tools/timeline/placed_steps.h \
  tools/timeline/plausible.cc tools/timeline/plausible.h \
  tools/timeline/program.cc tools/timeline/program.h \
  tools/timeline/read_program.cc tools/timeline/read_program.h \
  tools/timeline/remembered_preemption.cc tools/timeline/remembered_preemption.h \
  tools/timeline/sensitivity.cc tools/timeline/sensitivity.h \
  tools/timeline/signal_ledger.cc tools/timeline/signal_ledger.h \
  tools/timeline/signal_words.cc tools/timeline/signal_words.h \
  tools/timeline/stalls.cc tools/timeline/stalls.h \
  tools/timeline/step_painter.cc tools/timeline/step_painter.h \
  tools/timeline/step_rate.cc tools/timeline/step_rate.h \
  tools/timeline/steps.cc tools/timeline/steps.h \
  tools/timeline/stop_signal.cc tools/timeline/stop_signal.h \
  tools/timeline/text.h \
  tools/timeline/timeline.cc tools/timeline/timeline.h \
  tools/timeline/waiting.cc tools/timeline/waiting.h \
  tools/timeline/why_google.cc tools/timeline/why_google.h
unity_sources += tools/libtimeline.unity.cc
if UNITY
nodist_tools_libtimeline_la_SOURCES = tools/libtimeline.unity.cc
else
tools_libtimeline_la_SOURCES = $(tools_libtimeline_files)
endif
tools_libtimeline_la_LIBADD = tools/libsignalname.la sql/libsteps.la

# Signals by name.
noinst_LTLIBRARIES += tools/libsignalname.la
tools_libsignalname_la_SOURCES = tools/base/signal_name.cc tools/base/signal_name.h
tools_libsignalname_la_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
tools_libsignalname_la_LIBADD = $(ABSL_LIBS)

# Model FLOPs and what GPUs can do at best: pure.
noinst_LTLIBRARIES += tools/libflops.la
tools_libflops_la_SOURCES = \
  tools/flops/peaks.cc tools/flops/peaks.h \
  tools/flops/program_flops.cc tools/flops/program_flops.h \
  tools/flops/step_flops.cc tools/flops/step_flops.h
tools_libflops_la_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
tools_libflops_la_LIBADD = $(ABSL_LIBS)

# What daemon and command share: configuration, accounting, the wire form of a mark.
noinst_LTLIBRARIES += tools/libcommon.la
tools_libcommon_files = \
  tools/base/service_manager.cc tools/base/service_manager.h \
  tools/base/database_lease.cc tools/base/database_lease.h \
  tools/base/helper_process.cc tools/base/helper_process.h \
  tools/base/subprocess.cc tools/base/subprocess.h \
  tools/base/unix_socket.cc tools/base/unix_socket.h \
  tools/config/config.cc tools/config/config.h \
  tools/goodputd/housekeeping/database_copy.cc tools/goodputd/housekeeping/database_copy.h \
  tools/goodputd/signals/trace_permission.cc tools/goodputd/signals/trace_permission.h \
  tools/goodputd/mark_message.cc tools/goodputd/mark_message.h \
  tools/slurm/backfill.cc tools/slurm/backfill.h \
  tools/slurm/backfiller.cc tools/slurm/backfiller.h \
  tools/slurm/hostlist.cc tools/slurm/hostlist.h \
  tools/slurm/plugin_file.cc tools/slurm/plugin_file.h \
  tools/slurm/sacct.cc tools/slurm/sacct.h \
  tools/slurm/sacctmgr.cc tools/slurm/sacctmgr.h \
  tools/slurm/slurm_time.cc tools/slurm/slurm_time.h \
  tools/slurm/tres.cc tools/slurm/tres.h
unity_sources += tools/libcommon.unity.cc
if UNITY
nodist_tools_libcommon_la_SOURCES = tools/libcommon.unity.cc
else
tools_libcommon_la_SOURCES = $(tools_libcommon_files)
endif
tools_libcommon_la_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS)
tools_libcommon_la_LIBADD = tools/libsignalname.la tools/libflops.la sql/libstore.la $(ABSL_LIBS) $(SIMDJSON_LIBS)

# From a node's spool to the shared one.
noinst_LTLIBRARIES += tools/libship.la
tools_libship_files = \
  tools/ship/files_as.cc tools/ship/files_as.h \
  tools/ship/ingest_helper.cc tools/ship/ingest_helper.h \
  tools/ship/ship_helper.cc tools/ship/ship_helper.h \
  tools/ship/shared_folder.cc tools/ship/shared_folder.h \
  tools/ship/shipper.cc tools/ship/shipper.h
unity_sources += tools/libship.unity.cc
if UNITY
nodist_tools_libship_la_SOURCES = tools/libship.unity.cc
else
tools_libship_la_SOURCES = $(tools_libship_files)
endif
tools_libship_la_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
tools_libship_la_LIBADD = tools/libcommon.la

# What frameworks print about their training.
noinst_LTLIBRARIES += tools/liblogs.la
tools_liblogs_files = \
  tools/exchange/clock_steps.h tools/exchange/decimal.cc tools/exchange/decimal.h \
  tools/exchange/google_entry.cc tools/exchange/google_entry.h \
  tools/exchange/plain_step.cc tools/exchange/plain_step.h \
  tools/exchange/told.h tools/exchange/usual_time.h \
  tools/logs/built_in.h \
  tools/logs/google_events.cc tools/logs/google_events.h \
  tools/logs/line_time.cc tools/logs/line_time.h \
  tools/logs/lines.cc tools/logs/lines.h \
  tools/logs/log_event.h \
  tools/logs/counters.cc tools/logs/counters.h \
  tools/logs/line_placer.cc tools/logs/line_placer.h \
  tools/logs/log_fold.cc tools/logs/log_fold.h \
  tools/logs/log_reader.cc tools/logs/log_reader.h \
  tools/logs/profile.cc tools/logs/profile.h
unity_sources += tools/liblogs.unity.cc
if UNITY
nodist_tools_liblogs_la_SOURCES = tools/logs/built_in.cc tools/liblogs.unity.cc
else
nodist_tools_liblogs_la_SOURCES = tools/logs/built_in.cc
tools_liblogs_la_SOURCES = $(tools_liblogs_files)
endif
tools_liblogs_la_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS) $(RE2_CFLAGS)
tools_liblogs_la_LIBADD = $(ABSL_LIBS) $(SIMDJSON_LIBS) $(RE2_LIBS)

# In the order in which `auto` prefers them.
log_profiles = \
  tools/logs/profiles/megatron.profile \
  tools/logs/profiles/nemo.profile \
  tools/logs/profiles/torchtitan.profile \
  tools/logs/profiles/maxtext.profile \
  tools/logs/profiles/deepspeed.profile \
  tools/logs/profiles/composer.profile \
  tools/logs/profiles/lightning.profile \
  tools/logs/profiles/hf.profile \
  tools/logs/profiles/megatron-progress.profile \
  tools/logs/profiles/submitit.profile \
  tools/logs/profiles/nccl-tests.profile \
  tools/logs/profiles/slurm.profile
EXTRA_DIST += tools/logs/embed $(log_profiles)
BUILT_SOURCES += tools/logs/built_in.cc
CLEANFILES += tools/logs/built_in.cc
tools/logs/built_in.cc: tools/logs/embed $(log_profiles)
	@mkdir -p tools/logs
	$(AM_V_GEN)cd $(srcdir) && sh tools/logs/embed $(log_profiles) >$(abs_builddir)/$@.new
	@mv $@.new $@

# HTTP for the daemon alone: the command does not carry libcurl.
noinst_LTLIBRARIES += tools/libhttp.la
tools_libhttp_la_SOURCES = tools/base/http_client.cc tools/base/http_client.h
tools_libhttp_la_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(CURL_CFLAGS)
tools_libhttp_la_LIBADD = tools/libcommon.la $(CURL_LIBS)

# The daemon without its main, so that tests can link it.
noinst_LTLIBRARIES += tools/libgoodputd.la
tools_libgoodputd_files = \
  tools/goodputd/accounting_follower.cc tools/goodputd/accounting_follower.h \
  tools/goodputd/checkpoints/checkpoint_watch.cc tools/goodputd/checkpoints/checkpoint_watch.h \
  tools/goodputd/checkpoints/folder_watch.cc tools/goodputd/checkpoints/folder_watch.h \
  tools/goodputd/checkpoints/layout.cc tools/goodputd/checkpoints/layout.h \
  tools/goodputd/checkpoints/layouts/layouts.h \
  tools/goodputd/checkpoints/layouts/composer.cc \
  tools/goodputd/checkpoints/layouts/deepspeed.cc \
  tools/goodputd/checkpoints/layouts/huggingface.cc \
  tools/goodputd/checkpoints/layouts/lightning.cc \
  tools/goodputd/checkpoints/layouts/megatron.cc \
  tools/goodputd/checkpoints/layouts/nemo.cc \
  tools/goodputd/checkpoints/layouts/orbax.cc \
  tools/goodputd/checkpoints/layouts/plain_file.cc \
  tools/goodputd/checkpoints/layouts/torch_dcp.cc \
  tools/goodputd/checkpoints/open_folder.cc tools/goodputd/checkpoints/open_folder.h \
  tools/goodputd/checkpoints/scan_helper.cc tools/goodputd/checkpoints/scan_helper.h \
  tools/goodputd/counts_file.cc tools/goodputd/counts_file.h \
  tools/goodputd/exec_watch.cc tools/goodputd/exec_watch.h \
  tools/goodputd/heartbeat.cc tools/goodputd/heartbeat.h \
  tools/goodputd/housekeeping/damaged_database.cc tools/goodputd/housekeeping/damaged_database.h \
  tools/goodputd/housekeeping/housekeeper.cc tools/goodputd/housekeeping/housekeeper.h \
  tools/goodputd/host/host_loop.cc tools/goodputd/host/host_loop.h \
  tools/goodputd/host/metadata_watch.cc tools/goodputd/host/metadata_watch.h \
  tools/goodputd/host/notice_recorder.cc tools/goodputd/host/notice_recorder.h \
  tools/goodputd/host/notice_word.h \
  tools/goodputd/job_owners.cc tools/goodputd/job_owners.h \
  tools/goodputd/job_paths.cc tools/goodputd/job_paths.h \
  tools/goodputd/job_threads.cc tools/goodputd/job_threads.h \
  tools/goodputd/log.h \
  tools/goodputd/mark_server.cc tools/goodputd/mark_server.h \
  tools/goodputd/node_jobs.cc tools/goodputd/node_jobs.h \
  tools/goodputd/node_spools.cc tools/goodputd/node_spools.h \
  tools/goodputd/note_sweep.cc tools/goodputd/note_sweep.h \
  tools/goodputd/output/follow_helper.cc tools/goodputd/output/follow_helper.h \
  tools/goodputd/output/follower.cc tools/goodputd/output/follower.h \
  tools/goodputd/output/output_watch.cc tools/goodputd/output/output_watch.h \
  tools/goodputd/pace.h \
  tools/goodputd/processes.cc tools/goodputd/processes.h \
  tools/goodputd/reload.cc tools/goodputd/reload.h \
  tools/goodputd/queue_watch.cc tools/goodputd/queue_watch.h \
  tools/goodputd/signals/perf_ring.cc \
  tools/goodputd/signals/signal_finder.cc tools/goodputd/signals/signal_finder.h \
  tools/goodputd/signals/signal_loop.cc tools/goodputd/signals/signal_loop.h \
  tools/goodputd/signals/signal_recorder.cc tools/goodputd/signals/signal_recorder.h \
  tools/goodputd/signals/signal_trace.cc tools/goodputd/signals/signal_trace.h \
  tools/goodputd/signals/tracepoint.cc tools/goodputd/signals/tracepoint.h \
  tools/goodputd/spool_tail.cc tools/goodputd/spool_tail.h
unity_sources += tools/libgoodputd.unity.cc
if UNITY
nodist_tools_libgoodputd_la_SOURCES = tools/libgoodputd.unity.cc
else
tools_libgoodputd_la_SOURCES = $(tools_libgoodputd_files)
endif
tools_libgoodputd_la_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS)
tools_libgoodputd_la_LIBADD = tools/liblogs.la tools/libcommon.la

sbin_PROGRAMS += tools/goodputd/goodputd
tools_libgoodputd_la_LIBADD += tools/libhttp.la
tools_goodputd_goodputd_files = \
  tools/goodputd/active_role.cc tools/goodputd/active_role.h \
  tools/goodputd/controller_loop.cc tools/goodputd/controller_loop.h \
  tools/goodputd/problems.h \
  tools/goodputd/shared_ingest_loop.cc tools/goodputd/shared_ingest_loop.h \
  tools/goodputd/ship_loop.cc tools/goodputd/ship_loop.h \
  tools/goodputd/watch_loop.cc tools/goodputd/watch_loop.h \
  tools/goodputd/main.cc \
  tools/slurm/controller.cc tools/slurm/controller.h tools/slurm/libslurm.h
unity_sources += tools/goodputd/goodputd.unity.cc
if UNITY
nodist_tools_goodputd_goodputd_SOURCES = tools/goodputd/goodputd.unity.cc
else
tools_goodputd_goodputd_SOURCES = $(tools_goodputd_goodputd_files)
endif
tools_goodputd_goodputd_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
tools_goodputd_goodputd_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) -pthread
tools_goodputd_goodputd_LDFLAGS = $(AM_LDFLAGS) $(SLURM_LDFLAGS) -pthread
tools_goodputd_goodputd_LDADD = tools/libgoodputd.la tools/libship.la $(SLURM_LIBS)

# From the database to a judged run.
noinst_LTLIBRARIES += tools/libruns.la
tools_libruns_files = \
  tools/runs/best_word.cc tools/runs/best_word.h \
  tools/runs/chain.cc tools/runs/chain.h \
  tools/runs/clocks.cc tools/runs/clocks.h \
  tools/runs/collectives.cc tools/runs/collectives.h \
  tools/runs/components.cc tools/runs/components.h \
  tools/runs/controller_clock.cc tools/runs/controller_clock.h \
  tools/runs/drafts.cc tools/runs/drafts.h \
  tools/runs/explain_end.cc tools/runs/explain_end.h \
  tools/runs/fact_nodes.h \
  tools/runs/fact_sources.cc tools/runs/fact_sources.h \
  tools/runs/hook_records.cc tools/runs/hook_records.h \
  tools/runs/imported.cc tools/runs/imported.h \
  tools/runs/load_run.cc tools/runs/load_run.h \
  tools/runs/node_clock.cc tools/runs/node_clock.h \
  tools/runs/nodes_word.cc tools/runs/nodes_word.h \
  tools/runs/record.cc tools/runs/record.h \
  tools/runs/scheduler_word.cc tools/runs/scheduler_word.h \
  tools/runs/stored_steps.cc tools/runs/stored_steps.h \
  tools/runs/strands.cc tools/runs/strands.h
unity_sources += tools/libruns.unity.cc
if UNITY
nodist_tools_libruns_la_SOURCES = tools/libruns.unity.cc
else
tools_libruns_la_SOURCES = $(tools_libruns_files)
endif
tools_libruns_la_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS)
tools_libruns_la_LIBADD = tools/libtimeline.la tools/libcommon.la

# What to change about a run: pure, no I/O.
noinst_LTLIBRARIES += tools/libadvise.la
tools_libadvise_files = \
  tools/advise/advice.cc tools/advise/advice.h \
  tools/advise/checkpoint_interval.cc tools/advise/checkpoint_interval.h \
  tools/advise/measure.cc tools/advise/measure.h \
  tools/advise/mttf.cc tools/advise/mttf.h \
  tools/advise/network.cc tools/advise/network.h \
  tools/advise/plan.cc tools/advise/plan.h \
  tools/advise/what_to_do.cc tools/advise/what_to_do.h
unity_sources += tools/libadvise.unity.cc
if UNITY
nodist_tools_libadvise_la_SOURCES = tools/libadvise.unity.cc
else
tools_libadvise_la_SOURCES = $(tools_libadvise_files)
endif
tools_libadvise_la_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
tools_libadvise_la_LIBADD = tools/libtimeline.la $(ABSL_LIBS)

# From other programs' files and to them.
noinst_LTLIBRARIES += tools/libexchange.la
tools_libexchange_files = \
  tools/exchange/entry_stream.cc tools/exchange/entry_stream.h \
  tools/exchange/file_import.cc tools/exchange/file_import.h \
  tools/exchange/google_export.cc tools/exchange/google_export.h \
  tools/exchange/google_fold.cc tools/exchange/google_fold.h \
  tools/exchange/google_import.cc tools/exchange/google_import.h \
  tools/exchange/input.cc tools/exchange/input.h \
  tools/exchange/log_import.cc tools/exchange/log_import.h \
  tools/exchange/spool_export.cc tools/exchange/spool_export.h \
  tools/exchange/time_order.cc tools/exchange/time_order.h
unity_sources += tools/libexchange.unity.cc
if UNITY
nodist_tools_libexchange_la_SOURCES = tools/libexchange.unity.cc
else
tools_libexchange_la_SOURCES = $(tools_libexchange_files)
endif
tools_libexchange_la_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS)
tools_libexchange_la_LIBADD = tools/liblogs.la tools/libruns.la

# The web page, built in.
noinst_LTLIBRARIES += tools/libweb.la
tools_libweb_la_SOURCES = tools/web/assets.h tools/web/single_page.cc tools/web/single_page.h
nodist_tools_libweb_la_SOURCES = tools/web/assets.cc
tools_libweb_la_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
tools_libweb_la_LIBADD = $(ABSL_LIBS)

# In the order in which the page loads them.
web_files = \
  tools/web/index.html \
  tools/web/style.css \
  tools/web/format.js \
  tools/web/data.js \
  tools/web/draw.js \
  tools/web/list.js \
  tools/web/run.js \
  tools/web/fleet.js \
  tools/web/main.js
EXTRA_DIST += tools/web/embed $(web_files)
BUILT_SOURCES += tools/web/assets.cc
CLEANFILES += tools/web/assets.cc
tools/web/assets.cc: tools/web/embed $(web_files)
	@mkdir -p tools/web
	$(AM_V_GEN)cd $(srcdir) && sh tools/web/embed $(web_files) >$(abs_builddir)/$@.new
	@mv $@.new $@

# Sums over runs.
noinst_LTLIBRARIES += tools/librollup.la
tools_librollup_la_SOURCES = \
  tools/rollup/node_chance.cc tools/rollup/node_chance.h \
  tools/rollup/provision.cc tools/rollup/provision.h \
  tools/rollup/rollup.cc tools/rollup/rollup.h
tools_librollup_la_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
tools_librollup_la_LIBADD = tools/libtimeline.la tools/libcommon.la

# All GPUs of a cluster.
noinst_LTLIBRARIES += tools/libfleet.la
tools_libfleet_la_SOURCES = \
  tools/fleet/fleet.cc tools/fleet/fleet.h \
  tools/fleet/load_fleet.cc tools/fleet/load_fleet.h \
  tools/fleet/node_history.cc tools/fleet/node_history.h
tools_libfleet_la_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
tools_libfleet_la_LIBADD = tools/libruns.la

bin_PROGRAMS += tools/sgoodput/sgoodput
tools_sgoodput_sgoodput_files = \
  tools/sgoodput/advise.cc tools/sgoodput/advise.h \
  tools/sgoodput/asked_profiles.cc tools/sgoodput/asked_profiles.h \
  tools/sgoodput/attempts.cc \
  tools/sgoodput/backfill.cc \
  tools/sgoodput/diff.cc \
  tools/sgoodput/doctor.cc tools/sgoodput/findings.h \
  tools/sgoodput/doctor_controller.cc \
  tools/sgoodput/doctor_slurm.cc \
  tools/sgoodput/duration_option.cc tools/sgoodput/duration_option.h \
  tools/sgoodput/export.cc \
  tools/sgoodput/fleet.cc tools/sgoodput/fleet.h \
  tools/sgoodput/format.cc tools/sgoodput/format.h \
  tools/sgoodput/import.cc \
  tools/sgoodput/ingest.cc \
  tools/sgoodput/json_report.cc \
  tools/sgoodput/list.cc \
  tools/sgoodput/main.cc tools/sgoodput/help_formatter.h \
  tools/sgoodput/mark.cc \
  tools/sgoodput/options.h \
  tools/sgoodput/profile.cc \
  tools/sgoodput/progress.cc tools/sgoodput/progress.h \
  tools/sgoodput/report.cc tools/sgoodput/report.h \
  tools/sgoodput/rollup.cc tools/sgoodput/rollup.h \
  tools/sgoodput/selection.cc tools/sgoodput/selection.h \
  tools/sgoodput/session.cc tools/sgoodput/session.h \
  tools/sgoodput/show.cc \
  tools/sgoodput/show_head.cc \
  tools/sgoodput/show_page.cc \
  tools/sgoodput/show_sections.cc tools/sgoodput/show_sections.h \
  tools/sgoodput/show_interruptions.cc \
  tools/sgoodput/show_signals.cc \
  tools/sgoodput/style.h \
  tools/sgoodput/time_option.cc tools/sgoodput/time_option.h \
  tools/sgoodput/watch.cc
unity_sources += tools/sgoodput/sgoodput.unity.cc
if UNITY
nodist_tools_sgoodput_sgoodput_SOURCES = tools/sgoodput/sgoodput.unity.cc
else
tools_sgoodput_sgoodput_SOURCES = $(tools_sgoodput_sgoodput_files)
endif
tools_sgoodput_sgoodput_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
tools_sgoodput_sgoodput_LDADD = tools/libweb.la tools/libship.la tools/libfleet.la tools/librollup.la tools/libadvise.la tools/libexchange.la tools/libruns.la

EXTRA_DIST += tools/deps

# Where bash-completion looks, in any prefix.
completiondir = $(datadir)/bash-completion/completions
dist_completion_DATA = tools/completion/sgoodput

# Schemas of --json.
dist_pkgdata_DATA = tools/sgoodput/advise.schema.json tools/sgoodput/diff.schema.json tools/sgoodput/report.schema.json tools/sgoodput/sgoodput.schema.json
dist_doc_DATA += tools/goodput.conf.example

# What programs say marks with: #include <slurm-goodput/goodput.h>, and one Python file to copy or to put in PYTHONPATH.
pkginclude_HEADERS = tools/clients/goodput.h
clientsdir = $(pkgdatadir)/clients
dist_clients_DATA = tools/clients/goodput.py
# The same for scripts in container images.
tools_mark_goodput_mark_SOURCES = tools/mark/goodput_mark.c tools/clients/goodput.h
tools_mark_goodput_mark_LDFLAGS = $(AM_LDFLAGS) $(STATIC_LDFLAGS)

# systemd units: who starts the daemon, with which powers.
units = tools/units/goodputd.service tools/units/goodputd-controller.service
EXTRA_DIST += tools/units/goodputd.service.in tools/units/goodputd-controller.service.in tools/units/goodputd.socket
if SYSTEMD_UNITS
dist_systemdsystemunit_DATA = tools/units/goodputd.socket
nodist_systemdsystemunit_DATA = $(units)
endif
CLEANFILES += $(units)
%.service: %.service.in
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sed 's|@sbindir[@]|$(sbindir)|g' $< > $@.new && mv $@.new $@

# The user and the folders they want. /usr/local/lib is read, too, by systemd-sysusers and systemd-tmpfiles.
EXTRA_DIST += tools/units/sysusers.d/slurm-goodput.conf tools/units/tmpfiles.d/slurm-goodput.conf
if SYSUSERS
dist_sysusers_DATA = tools/units/sysusers.d/slurm-goodput.conf
endif
if TMPFILES
dist_tmpfiles_DATA = tools/units/tmpfiles.d/slurm-goodput.conf
endif
