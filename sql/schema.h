// The database's schema, one migration per version. SCHEMA.md describes tables and views for people who query
// it.
#pragma once

#include <string>

namespace goodput {

inline constexpr int kSchemaVersion = 1;
// `PRAGMA application_id`: "gput". Databases of development versions have none.
inline constexpr int kApplicationId = 0x67707574;

// The SQL that upgrades from version-1 to `version` (1..kSchemaVersion).
std::string Migration(int version);

}  // namespace goodput
