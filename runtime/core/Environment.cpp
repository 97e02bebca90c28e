#include "tessera/runtime/core/Environment.h"
#include "tessera/runtime/core/Error.h"

#include <cstdlib>

namespace tessera::runtime {

bool environmentSwitch(const char *name, bool otherwise) {
  const char *value = getenv(name);
  std::string text = value ? value : "";
  if (text.empty())
    return otherwise;
  if (text != "0" && text != "1")
    throw Error("cannot read a setting", name + ("=" + text), "it is neither 0 nor 1",
                std::string("unset it for the default of ") + (otherwise ? "1" : "0"));
  return text == "1";
}

} // namespace tessera::runtime
