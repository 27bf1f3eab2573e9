// Hands errors on to the caller.
//
//   RETURN_IF_ERROR(db.Run("..."));
//   ASSIGN_OR_RETURN(Statement insert, db.Prepare("..."));
//
// The function returns absl::Status or absl::StatusOr. ASSIGN_OR_RETURN is two statements: it cannot be the
// body of an `if` without braces.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// A declaration and an expression take no parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define RETURN_IF_ERROR(expression) \
  if (absl::Status goodput_status = (expression); !goodput_status.ok()) return goodput_status

#define ASSIGN_OR_RETURN(variable, expression) \
  GOODPUT_ASSIGN_OR_RETURN(GOODPUT_JOIN(goodput_result_, __LINE__), variable, expression)
#define GOODPUT_ASSIGN_OR_RETURN(result, variable, expression) \
  auto result = (expression);                                  \
  if (!result.ok()) return std::move(result).status();         \
  variable = *std::move(result)
#define GOODPUT_JOIN(a, b) GOODPUT_JOIN_TOKENS(a, b)
#define GOODPUT_JOIN_TOKENS(a, b) a##b
// NOLINTEND(bugprone-macro-parentheses)
