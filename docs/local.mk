# Manuals are installed; the other documents are in the tarball, and packages install some of them.
dist_man_MANS += docs/man/goodput.conf.5 docs/man/goodputd.8 docs/man/sgoodput.1 docs/man/spank_goodput.8
EXTRA_DIST += docs/design.md docs/fleet.md docs/formats/duration_histogram.md docs/formats/mark_block.md \
  docs/formats/record_block.md docs/formats/step_block.md docs/operators.md docs/page.png docs/security.md docs/slurm-behaviour.md docs/users.md
