// Early return for absl::Status. The CO_ forms are for coroutines.
//
// A macro's expression may hold a co_await, but never a lambda with captures inside it: g++ 12
// destroys such a closure twice. Name the closure first.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define SANDKEEP_CONCAT_INNER(a, b) a##b
#define SANDKEEP_CONCAT(a, b) SANDKEEP_CONCAT_INNER(a, b)

#define SANDKEEP_RETURN_IF_ERROR(ret, status, expr)             \
  do {                                                          \
    if (absl::Status status = (expr); !status.ok()) ret status; \
  } while (false)

#define SANDKEEP_ASSIGN_OR_RETURN(ret, result, lhs, expr) \
  auto result = (expr);                                   \
  if (!result.ok()) ret std::move(result).status();       \
  lhs = std::move(result).value()

#define RETURN_IF_ERROR(expr) \
  SANDKEEP_RETURN_IF_ERROR(return, SANDKEEP_CONCAT(sk_status_, __LINE__), expr)
#define CO_RETURN_IF_ERROR(expr) \
  SANDKEEP_RETURN_IF_ERROR(co_return, SANDKEEP_CONCAT(sk_status_, __LINE__), expr)
#define ASSIGN_OR_RETURN(lhs, expr) \
  SANDKEEP_ASSIGN_OR_RETURN(return, SANDKEEP_CONCAT(sk_result_, __LINE__), lhs, expr)
#define CO_ASSIGN_OR_RETURN(lhs, expr) \
  SANDKEEP_ASSIGN_OR_RETURN(co_return, SANDKEEP_CONCAT(sk_result_, __LINE__), lhs, expr)
