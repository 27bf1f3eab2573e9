# The client interfaces for marks: a C and C++ header, and one Python file to copy or to add to PYTHONPATH.
pkginclude_HEADERS = tools/clients/goodput.h
clientsdir = $(pkgdatadir)/clients
dist_clients_DATA = tools/clients/goodput.py
# The command for scripts in container images.
pkglibexec_PROGRAMS += tools/clients/goodput-mark
tools_clients_goodput_mark_SOURCES = tools/clients/goodput_mark.c tools/clients/goodput.h
tools_clients_goodput_mark_LDFLAGS = $(AM_LDFLAGS) $(STATIC_LDFLAGS)
