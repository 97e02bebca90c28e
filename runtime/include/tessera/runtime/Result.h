// Errors as values. Functions that can fail return Result<T> or Status; nothing of ours throws across an API.
//
// A Failure holds the pieces of the one line that a user sees: `error: WHAT (WHERE): WHY; TRY`.
// (The names avoid llvm::Error and llvm::Expected: compiler and runtime both include this header.)
#ifndef TESSERA_RUNTIME_RESULT_H
#define TESSERA_RUNTIME_RESULT_H

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace tessera {

struct Failure {
  std::string what;  // what did not work: "cannot read model"
  std::string where; // file, tensor, flag: "/m/model.safetensors, tensor lm_head.weight". May be empty
  std::string why;   // the reason, with the offending values
  std::string hint;  // what to try: "download the file again". May be empty

  // `WHAT (WHERE): WHY; TRY`, without the leading "error: ". Always one line of printable text: control
  // characters and invalid UTF-8 (names come from damaged files) are printed as \xNN, overlong pieces are
  // cut.
  std::string message() const;
};

// A T or a Failure. `if (!r) return r.takeFailure();  use(*r);`
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : value_(std::move(value)) {}
  Result(Failure failure) : failure_(std::move(failure)) {}

  explicit operator bool() const { return value_.has_value(); }
  T &operator*() { return assert(value_), *value_; }
  const T &operator*() const { return assert(value_), *value_; }
  T *operator->() { return &**this; }
  const T *operator->() const { return &**this; }
  T take() { return std::move(**this); }
  const Failure &failure() const { return assert(!value_), failure_; }
  Failure takeFailure() { return assert(!value_), std::move(failure_); }

private:
  std::optional<T> value_;
  Failure failure_;
};

// Success or a Failure. `if (Status s = f(); !s) return s.takeFailure();`
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Failure failure) : failure_(std::move(failure)) {}

  explicit operator bool() const { return !failure_.has_value(); }
  const Failure &failure() const { return assert(failure_), *failure_; }
  Failure takeFailure() { return assert(failure_), std::move(*failure_); }

private:
  std::optional<Failure> failure_;
};

} // namespace tessera
#endif
