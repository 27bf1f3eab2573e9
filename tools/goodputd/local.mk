# The daemon without its loops and main(), so that tests can link it.
noinst_LIBRARIES += tools/goodputd/libgoodputd.a
tools_goodputd_libgoodputd_files = \
  tools/goodputd/accounting_follower.cc tools/goodputd/accounting_follower.h \
  tools/goodputd/counts_file.cc tools/goodputd/counts_file.h \
  tools/goodputd/exec_watch.cc tools/goodputd/exec_watch.h \
  tools/goodputd/heartbeat.cc tools/goodputd/heartbeat.h \
  tools/goodputd/job_owners.cc tools/goodputd/job_owners.h \
  tools/goodputd/job_paths.cc tools/goodputd/job_paths.h \
  tools/goodputd/job_record.cc tools/goodputd/job_record.h \
  tools/goodputd/job_state_sweep.cc tools/goodputd/job_state_sweep.h \
  tools/goodputd/job_watch_loop.cc tools/goodputd/job_watch_loop.h \
  tools/goodputd/job_watches.cc tools/goodputd/job_watches.h \
  tools/goodputd/log.h \
  tools/goodputd/look_cost.h \
  tools/goodputd/mark_server.cc tools/goodputd/mark_server.h \
  tools/goodputd/node_context.h \
  tools/goodputd/node_jobs.cc tools/goodputd/node_jobs.h \
  tools/goodputd/node_spools.cc tools/goodputd/node_spools.h \
  tools/goodputd/polling.h \
  tools/goodputd/processes.cc tools/goodputd/processes.h \
  tools/goodputd/queue_watch.cc tools/goodputd/queue_watch.h \
  tools/goodputd/record_quota.cc tools/goodputd/record_quota.h \
  tools/goodputd/reload.cc tools/goodputd/reload.h \
  tools/goodputd/spool_tail.cc tools/goodputd/spool_tail.h \
  tools/goodputd/checkpoints/checkpoint_news.cc tools/goodputd/checkpoints/checkpoint_news.h \
  tools/goodputd/checkpoints/checkpoint_watcher.cc tools/goodputd/checkpoints/checkpoint_watcher.h \
  tools/goodputd/checkpoints/folder_watch.cc tools/goodputd/checkpoints/folder_watch.h \
  tools/goodputd/checkpoints/layout.cc tools/goodputd/checkpoints/layout.h \
  tools/goodputd/checkpoints/open_folder.cc tools/goodputd/checkpoints/open_folder.h \
  tools/goodputd/checkpoints/scan_helper.cc tools/goodputd/checkpoints/scan_helper.h \
  tools/goodputd/checkpoints/layouts/composer.cc \
  tools/goodputd/checkpoints/layouts/deepspeed.cc \
  tools/goodputd/checkpoints/layouts/huggingface.cc \
  tools/goodputd/checkpoints/layouts/layouts.h \
  tools/goodputd/checkpoints/layouts/lightning.cc \
  tools/goodputd/checkpoints/layouts/megatron.cc \
  tools/goodputd/checkpoints/layouts/nemo.cc \
  tools/goodputd/checkpoints/layouts/orbax.cc \
  tools/goodputd/checkpoints/layouts/plain_file.cc \
  tools/goodputd/checkpoints/layouts/torch_dcp.cc \
  tools/goodputd/gpu_use/gpu_use_loop.cc tools/goodputd/gpu_use/gpu_use_loop.h \
  tools/goodputd/gpu_use/exporter_text.cc tools/goodputd/gpu_use/exporter_text.h \
  tools/goodputd/gpu_use/gpu_owners.cc tools/goodputd/gpu_use/gpu_owners.h \
  tools/goodputd/gpu_use/gpu_use_fold.cc tools/goodputd/gpu_use/gpu_use_fold.h \
  tools/goodputd/hang/hang_helper.cc tools/goodputd/hang/hang_helper.h \
  tools/goodputd/hang/hang_watcher.cc tools/goodputd/hang/hang_watcher.h \
  tools/goodputd/hang/job_progress.cc tools/goodputd/hang/job_progress.h \
  tools/goodputd/hang/last_output.cc tools/goodputd/hang/last_output.h \
  tools/goodputd/hang/nccl_ras.cc tools/goodputd/hang/nccl_ras.h \
  tools/goodputd/hang/process_look.cc tools/goodputd/hang/process_look.h \
  tools/goodputd/hang/py_spy.cc tools/goodputd/hang/py_spy.h \
  tools/goodputd/hang/ras_report.cc tools/goodputd/hang/ras_report.h \
  tools/goodputd/hang/stalled_jobs.cc tools/goodputd/hang/stalled_jobs.h \
  tools/goodputd/host/host_loop.cc tools/goodputd/host/host_loop.h \
  tools/goodputd/host/metadata_watch.cc tools/goodputd/host/metadata_watch.h \
  tools/goodputd/host/notice_kind.h \
  tools/goodputd/host/notice_recorder.cc tools/goodputd/host/notice_recorder.h \
  tools/goodputd/housekeeping/damaged_database.cc tools/goodputd/housekeeping/damaged_database.h \
  tools/goodputd/housekeeping/housekeeper.cc tools/goodputd/housekeeping/housekeeper.h \
  tools/goodputd/kernel/hardware_fold.cc tools/goodputd/kernel/hardware_fold.h \
  tools/goodputd/kernel/hardware_recorder.cc tools/goodputd/kernel/hardware_recorder.h \
  tools/goodputd/kernel/kernel_line.cc tools/goodputd/kernel/kernel_line.h \
  tools/goodputd/kernel/kernel_log.cc tools/goodputd/kernel/kernel_log.h \
  tools/goodputd/kernel/kernel_loop.cc tools/goodputd/kernel/kernel_loop.h \
  tools/goodputd/output/buffered_lines.cc tools/goodputd/output/buffered_lines.h \
  tools/goodputd/output/ended_outputs.cc tools/goodputd/output/ended_outputs.h \
  tools/goodputd/output/file_mark.h \
  tools/goodputd/output/found_event.h \
  tools/goodputd/output/follow_helper.cc tools/goodputd/output/follow_helper.h \
  tools/goodputd/output/follower.cc tools/goodputd/output/follower.h \
  tools/goodputd/output/open_mode.cc tools/goodputd/output/open_mode.h \
  tools/goodputd/output/output_news.cc tools/goodputd/output/output_news.h \
  tools/goodputd/output/output_watcher.cc tools/goodputd/output/output_watcher.h \
  tools/goodputd/signals/perf_ring.cc \
  tools/goodputd/signals/signal_finder.cc tools/goodputd/signals/signal_finder.h \
  tools/goodputd/signals/signal_loop.cc tools/goodputd/signals/signal_loop.h \
  tools/goodputd/signals/signal_recorder.cc tools/goodputd/signals/signal_recorder.h \
  tools/goodputd/signals/signal_trace.cc tools/goodputd/signals/signal_trace.h \
  tools/goodputd/signals/tracepoint.cc tools/goodputd/signals/tracepoint.h
unity_sources += tools/goodputd/libgoodputd.unity.cc
if UNITY
nodist_tools_goodputd_libgoodputd_a_SOURCES = tools/goodputd/libgoodputd.unity.cc
else
tools_goodputd_libgoodputd_a_SOURCES = $(tools_goodputd_libgoodputd_files)
endif
tools_goodputd_libgoodputd_a_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) $(SIMDJSON_CFLAGS) $(RE2_CFLAGS)
goodputd_libs = tools/goodputd/libgoodputd.a $(logs_libs) $(slurmtext_libs) $(http_libs)

sbin_PROGRAMS += tools/goodputd/goodputd
tools_goodputd_goodputd_files = \
  tools/goodputd/active_role.cc tools/goodputd/active_role.h \
  tools/goodputd/controller_loop.cc tools/goodputd/controller_loop.h \
  tools/goodputd/liveness.h \
  tools/goodputd/main.cc \
  tools/goodputd/problem_log.h \
  tools/goodputd/reader_loop.cc tools/goodputd/reader_loop.h \
  tools/goodputd/reader_sockets.cc tools/goodputd/reader_sockets.h \
  tools/goodputd/shared_ingest_loop.cc tools/goodputd/shared_ingest_loop.h \
  tools/goodputd/ship_loop.cc tools/goodputd/ship_loop.h \
  tools/goodputd/watch_loop.cc tools/goodputd/watch_loop.h \
  tools/sources/slurm/controller.cc tools/sources/slurm/controller.h \
  tools/sources/slurm/libslurm.h
unity_sources += tools/goodputd/goodputd.unity.cc
if UNITY
nodist_tools_goodputd_goodputd_SOURCES = tools/goodputd/goodputd.unity.cc
else
tools_goodputd_goodputd_SOURCES = $(tools_goodputd_goodputd_files)
endif
tools_goodputd_goodputd_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
tools_goodputd_goodputd_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS) -pthread
tools_goodputd_goodputd_LDFLAGS = $(AM_LDFLAGS) $(SLURM_LDFLAGS) -pthread
tools_goodputd_goodputd_LDADD = $(installed_libs) $(reader_libs) $(goodputd_libs) $(sharedspool_libs) $(SLURM_LIBS)
