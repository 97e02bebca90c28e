// Numbers as `info` says them to people.
#ifndef TESSERA_RUNTIME_APP_REPORTTEXT_H
#define TESSERA_RUNTIME_APP_REPORTTEXT_H

#include <cstdint>
#include <string>

namespace tessera::runtime {

std::string mega(double bytes);                          // `1.5 MB`, `0.0123 MB`, `64 bytes`
std::string milliseconds(double seconds);                // `2.3 ms`
std::string counted(int64_t n, const std::string &what); // `1 row`, `2 batches`

// A label of `info`, filled up to where the texts of all rows begin.
std::string column(std::string label);

} // namespace tessera::runtime
#endif
