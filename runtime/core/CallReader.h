// The calls of an entry, from the manifest's JSON.
#ifndef TESSERA_RUNTIME_CORE_CALLREADER_H
#define TESSERA_RUNTIME_CORE_CALLREADER_H

#include "tessera/runtime/core/Fields.h"

namespace tessera::runtime {

std::vector<CallSpec> readCalls(const Json &json, const std::string &where);
// Throws the error of a damaged manifest on numbers that are none of their tables.
void checkCalls(const std::vector<CallSpec> &calls, const Manifest &manifest, const EntrySpec &entry);

} // namespace tessera::runtime
#endif
