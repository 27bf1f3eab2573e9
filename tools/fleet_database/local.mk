# The program that `sgoodput fleet` and `sgoodput --fleet-db` execute. It is separate because of libpq, whose libraries
# would slow down every start of sgoodput.
pkglibexec_PROGRAMS += tools/fleet_database/goodput-fleet-database
tools_fleet_database_goodput_fleet_database_files = \
  tools/fleet_database/answers.cc \
  tools/fleet_database/commands.cc \
  tools/fleet_database/fleet_session.cc tools/fleet_database/fleet_session.h \
  tools/fleet_database/main.cc \
  tools/fleet_database/options.h \
  tools/fleet_database/page.cc \
  tools/fleet_database/selection.cc tools/fleet_database/selection.h \
  tools/fleet_database/statement.cc
unity_sources += tools/fleet_database/goodput_fleet_database.unity.cc
if UNITY
nodist_tools_fleet_database_goodput_fleet_database_SOURCES = tools/fleet_database/goodput_fleet_database.unity.cc
else
tools_fleet_database_goodput_fleet_database_SOURCES = $(tools_fleet_database_goodput_fleet_database_files)
endif
tools_fleet_database_goodput_fleet_database_CXXFLAGS = $(AM_CXXFLAGS) $(ABSL_CFLAGS)
tools_fleet_database_goodput_fleet_database_LDADD = $(fleetdatabase_libs) $(metrics_libs) $(web_libs)
