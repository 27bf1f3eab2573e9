# The program that writes to the nodes' spools in tests/soak/ship.py.
check_PROGRAMS += tests/soak/spool_writer
tests_soak_spool_writer_SOURCES = tests/soak/spool_writer.cc
tests_soak_spool_writer_LDADD = spank/libevent_vocabulary.la
