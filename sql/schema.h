// The database's schema, one migration a version. SCHEMA.md describes tables and views for people who query
// it.
#ifndef GOODPUT_SQL_SCHEMA_H_
#define GOODPUT_SQL_SCHEMA_H_

#include <string>

namespace goodput {

inline constexpr int kSchemaVersion = 14;

// The SQL that brings version-1 to `version` (1..kSchemaVersion).
std::string Migration(int version);

}  // namespace goodput

#endif  // GOODPUT_SQL_SCHEMA_H_
