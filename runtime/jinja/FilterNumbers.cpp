#include "Filters.h"
#include "tessera/runtime/jinja/Characters.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>

namespace tessera::jinja {
namespace {

[[noreturn]] void refuse(const Value &value, const char *filter) {
  if (value.isUndefined())
    fail(value.whyUndefined(), "give it, or test it with 'is defined'");
  fail(std::string("'") + filter + "' does not go with " + typeName(value));
}

bool isWholeNumber(double value) { return std::fabs(value) < 9.2e18; }

// A number as Python reads it in text: blanks around it, no more.
bool readFloat(std::string_view text, double &value) {
  std::string digits(strip(text, nullptr, true, true));
  if (digits.empty() || digits.find_first_of("xXpP(") != digits.npos || isSpace(char32_t(digits[0])))
    return false;
  char *end = nullptr;
  value = std::strtod(digits.c_str(), &end);
  return *end == 0 && end == digits.c_str() + digits.size();
}
bool readInteger(std::string_view text, int base, int64_t &value) {
  std::string digits(strip(text, nullptr, true, true));
  if (digits.empty() || isSpace(char32_t(digits[0])))
    return false;
  char *end = nullptr;
  errno = 0;
  value = std::strtoll(digits.c_str(), &end, base);
  if (errno == ERANGE)
    fail("an integer is beyond 64 bits: " + digits);
  return *end == 0 && end == digits.c_str() + digits.size();
}

Value toInteger(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("int", arguments, {"default", "base"});
  Value otherwise = parameters.has(0) ? parameters[0] : Value::integer(0);
  if (self.isUndefined())
    refuse(self, "int");
  if (self.isInteger())
    return Value::integer(self.integer());
  double real = 0;
  if (self.isString()) {
    int64_t base = parameters.integer(1, 10), value = 0;
    if (base < 2 || base > 36)
      fail("'int' wants a base from 2 to 36");
    in.heap.work(self.text().size());
    if (readInteger(self.text(), int(base), value))
      return Value::integer(value);
    if (!readFloat(self.text(), real))
      return otherwise;
  } else if (self.is(Kind::Float)) {
    real = self.real();
  } else {
    return otherwise;
  }
  if (!std::isfinite(real))
    return otherwise;
  if (!isWholeNumber(real))
    fail("an integer is beyond 64 bits");
  return Value::integer(int64_t(real));
}

Value toFloat(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("float", arguments, {"default"});
  if (self.isUndefined())
    refuse(self, "float");
  if (self.isNumber())
    return Value::real(self.real());
  double value = 0;
  if (self.isString() && (in.heap.work(self.text().size()), readFloat(self.text(), value)))
    return Value::real(value);
  return parameters.has(0) ? parameters[0] : Value::real(0);
}

Value absolute(Interpreter &, const Value &self, Arguments &arguments) {
  Parameters parameters("abs", arguments, {});
  if (!self.isNumber())
    refuse(self, "abs");
  bool isNegative = self.isInteger() ? self.integer() < 0 : std::signbit(self.real());
  if (self.is(Kind::Bool))
    return Value::integer(self.integer());
  return isNegative ? negative(self) : self;
}

Value round(Interpreter &, const Value &self, Arguments &arguments) {
  Parameters parameters("round", arguments, {"precision", "method"});
  if (!self.isNumber())
    refuse(self, "round");
  int64_t precision = parameters.integer(0, 0);
  std::string_view method = parameters.text(1, "common");
  if (method != "common" && method != "ceil" && method != "floor")
    fail("'round' knows the methods common, ceil and floor");
  if (precision < 0 || precision > 300)
    fail("'round' to " + std::to_string(precision) + " digits is not supported");
  if (method == "common") {
    if (self.isInteger())
      return Value::integer(self.integer());
    if (!std::isfinite(self.real()))
      return self;
    // Python rounds the exact value of the float, ties to even; so does printf.
    char digits[700];
    std::snprintf(digits, sizeof digits, "%.*f", int(precision), self.real());
    return Value::real(std::strtod(digits, nullptr));
  }
  double scale = std::pow(10.0, double(precision)), scaled = self.real() * scale;
  // Python makes an integer of it, of which there is one 0.
  if (!std::isfinite(scaled))
    fail("'round' cannot make an integer of a number that is not finite");
  return Value::real(((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) + 0.0) / scale);
}

const NamedBuiltin table[] = {{"int", toInteger}, {"float", toFloat}, {"abs", absolute}, {"round", round}};

} // namespace

Builtin findNumberFilter(std::string_view name) { return findIn(table, name); }

} // namespace tessera::jinja
