#include "sql/tables/losses.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {

NodeLosses ParseLosses(const std::string& node, std::string_view words) {
  NodeLosses losses;
  losses.node = node;
  for (const absl::string_view word :
       absl::StrSplit(ToAbsl(words), absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    const std::size_t equals = word.find('=');
    std::int64_t count = 0;
    if (equals == absl::string_view::npos || !absl::SimpleAtoi(word.substr(equals + 1), &count) ||
        count <= 0) {
      continue;
    }
    losses.counts[std::string(word.substr(0, equals))] = count;
  }
  return losses;
}

bool IsStored(Database& db, const NodeLosses& losses) {
  Statement statement = db.Prepare("SELECT what, count FROM node_loss WHERE node = ?1");
  statement.Bind(1, losses.node);
  std::map<std::string, std::int64_t> stored;
  while (statement.Step()) stored[statement.Text(0)] = statement.Int(1);
  return statement.status().ok() && stored == losses.counts;
}

absl::Status StoreLosses(Database& db, const NodeLosses& losses) {
  Statement forget = db.Prepare("DELETE FROM node_loss WHERE node = ?1");
  forget.Bind(1, losses.node);
  RETURN_IF_ERROR(forget.Run());
  Statement store = db.Prepare("INSERT INTO node_loss (node, what, count) VALUES (?1, ?2, ?3)");
  for (const auto& [what, count] : losses.counts) {
    store.Bind(1, losses.node).Bind(2, what).Bind(3, count);
    if (absl::Status status = store.Run(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<NodeLosses>> LoadLosses(Database& db) {
  Statement statement = db.Prepare("SELECT node, what, count FROM node_loss ORDER BY node, what");
  std::vector<NodeLosses> all;
  while (statement.Step()) {
    if (all.empty() || all.back().node != statement.Text(0)) all.push_back({statement.Text(0), {}});
    all.back().counts[statement.Text(1)] = statement.Int(2);
  }
  if (!statement.status().ok()) return statement.status();
  return all;
}

}  // namespace goodput
