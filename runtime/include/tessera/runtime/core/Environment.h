// Settings that come from the environment.
#ifndef TESSERA_RUNTIME_CORE_ENVIRONMENT_H
#define TESSERA_RUNTIME_CORE_ENVIRONMENT_H

namespace tessera::runtime {

// The variable `name`, which is 0 or 1; `otherwise` where it is unset or empty. Throws Error for anything
// else: a setting that is not understood must not look as if it were heeded.
bool environmentSwitch(const char *name, bool otherwise);

} // namespace tessera::runtime
#endif
