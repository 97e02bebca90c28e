// Manifests that are refused.
#ifndef TESSERA_RUNTIME_TEST_MANIFESTREFUSALS_H
#define TESSERA_RUNTIME_TEST_MANIFESTREFUSALS_H

#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Manifest.h"

#include <gtest/gtest.h>

namespace tessera::runtime {

// The manifest of a program that does next to nothing.
inline const char *const tiny =
    R"({"version": 2, "task": "generate", "dtype": "f32", "target": "cpu", "model": "/m",
  "mesh": [["tp", 2]], "arena_bytes": 1024, "params": [], "states": [], "matmuls": [], "groups": [[["tp", 1, 2]]],
  "collectives": [{"kind": "all_reduce", "op": "sum", "dtype": "f32", "group": 0, "elements": 4}],
  "entries": [{"name": "decode", "outputs": [], "collectives": [{"id": 0, "executions": 2}],
     "inputs": [{"name": "tokens", "dtype": "i32", "shape": [1, 3], "local": [1, 2], "sharding": [[], [["tp", 1, 2]]], "offset": 64}]}]})";

// Replaces one piece of the text and expects an error that contains `why`.
inline void expectRefusedIn(std::string text, const std::string &piece, const std::string &by,
                            const std::string &why) {
  size_t at = text.find(piece);
  ASSERT_NE(at, std::string::npos) << piece;
  text.replace(at, piece.size(), by);
  try {
    Manifest::parse(text);
    ADD_FAILURE() << "accepted: " << by;
  } catch (const Error &e) {
    EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
  }
}

} // namespace tessera::runtime
#endif
