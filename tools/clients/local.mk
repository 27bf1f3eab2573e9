# What programs say marks with: #include <slurm-goodput/goodput.h>, and one Python file to copy or to put in PYTHONPATH.
pkginclude_HEADERS = tools/clients/goodput.h
clientsdir = $(pkgdatadir)/clients
dist_clients_DATA = tools/clients/goodput.py
# The same for scripts in container images.
pkglibexec_PROGRAMS += tools/clients/goodput-mark
tools_clients_goodput_mark_SOURCES = tools/clients/goodput_mark.c tools/clients/goodput.h
tools_clients_goodput_mark_LDFLAGS = $(AM_LDFLAGS) $(STATIC_LDFLAGS)
