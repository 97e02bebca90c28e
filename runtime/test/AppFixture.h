// The fake program as executables on several meshes, run by a shell, and what it has to give.
#ifndef TESSERA_RUNTIME_TEST_APPFIXTURE_H
#define TESSERA_RUNTIME_TEST_APPFIXTURE_H

#include "FakeModel.h"
#include "tessera/runtime/io/ModelFile.h"
#include "tessera/runtime/io/SafetensorsWriter.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sys/wait.h>

namespace fake {

struct Outcome {
  int status;
  std::string out, err;
};

inline std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline std::string tempDir() {
  static std::string dir = [] {
    char name[] = "/tmp/tessera-app-XXXXXX";
    return std::string(mkdtemp(name));
  }();
  return dir;
}

inline Outcome shell(const std::string &command) {
  std::string out = tempDir() + "/out", err = tempDir() + "/err";
  int status = system(("( " + command + " ) >" + out + " 2>" + err).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), readFile(out), readFile(err)};
}

inline std::string program(const std::string &mesh) {
  return std::string(FAKE_PROGRAM_DIR) + "/fake_" + mesh;
}

struct Model {
  std::vector<float> embedding, scale;
  std::string path;
  Model() : embedding(V * D), scale(D) {
    std::mt19937 rng(7);
    std::normal_distribution<float> normal;
    for (float &x : embedding)
      x = normal(rng);
    for (float &x : scale)
      x = -1 + 0.1f * normal(rng); // negative: what was said is not said again, so that sequences vary
    path = tempDir() + "/model.safetensors";
    auto status = tessera::io::writeSafetensors(
        path, {{"embed.weight", tessera::io::DType::F32, {V, D}, embedding.data()},
               {"scale.weight", tessera::io::DType::F32, {D}, scale.data()}});
    EXPECT_TRUE(bool(status));
  }
  std::vector<double> logits(const std::vector<int32_t> &context) const {
    std::vector<double> hidden(D), result(V);
    for (size_t j = 0; j < context.size(); ++j)
      for (int64_t d = 0; d < D; ++d)
        hidden[d] += embedding[context[j] * D + d] / double(context.size() - j) * scale[d];
    for (int64_t v = 0; v < V; ++v)
      for (int64_t d = 0; d < D; ++d)
        result[v] += hidden[d] * embedding[v * D + d];
    return result;
  }
  std::vector<int32_t> greedy(std::vector<int32_t> context, int64_t count, double penalty = 1) const {
    std::vector<int32_t> made;
    while (int64_t(made.size()) < count) {
      std::vector<double> l = logits(context);
      for (int32_t id : std::set<int32_t>(context.begin(), context.end()))
        l[id] *= l[id] > 0 ? 1 / penalty : penalty;
      made.push_back(int32_t(std::max_element(l.begin(), l.end()) - l.begin()));
      context.push_back(made.back());
      if (made.back() == endToken)
        break;
    }
    return made;
  }
};

inline const Model &model() {
  static Model model;
  return model;
}

inline std::string tokensLine(const std::vector<int32_t> &tokens) {
  std::string line = "tokens: ";
  for (size_t i = 0; i < tokens.size(); ++i)
    line += (i ? "," : "") + std::to_string(tokens[i]);
  return line + "\n";
}

inline std::string flag(const std::vector<int32_t> &tokens) {
  return " --tokens=" + tokensLine(tokens).substr(8, tokensLine(tokens).size() - 9);
}

// One line `error: ...` of ours and nothing on stdout.
inline void expectError(const std::string &command, const std::string &why) {
  Outcome o = shell("timeout 300 " + command);
  EXPECT_EQ(o.status, 1) << command << "\n" << o.err;
  EXPECT_EQ(o.err.rfind("error: ", 0), 0u) << command << "\n" << o.err;
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << command << "\n" << o.err;
  EXPECT_NE(o.err.find(why), std::string::npos) << command << "\n" << o.err;
  EXPECT_EQ(o.out, "") << command;
}

inline const char *const meshes[] = {"1", "tp2", "tp3", "dp2", "dp2tp2"};
// Shorter than a chunk, longer than one, exactly one, longer than two; more than a batch of 3.
inline const std::vector<std::vector<int32_t>> prompts = {
    {3, 1, 4, 1, 5, 9, 2}, {6}, {5, 3, 5, 8}, {9, 7, 9, 3, 2, 3, 8, 4, 6}, {2, 6}};

} // namespace fake
#endif
