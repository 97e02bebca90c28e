// Runs of the fake training program (FakeTrain.cpp), and what plain loops say that they give.
#ifndef TESSERA_RUNTIME_TEST_TRAINRUN_H
#define TESSERA_RUNTIME_TEST_TRAINRUN_H

#include "FakeTrainModel.h"
#include "tessera/runtime/io/ModelFile.h"
#include "tessera/runtime/io/SafetensorsWriter.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <sys/wait.h>
#include <vector>

namespace fake {

constexpr int64_t rows = 22; // of the data: 4 steps of B rows, and two more

inline bool haveMpi() { return system("command -v mpirun >/dev/null 2>&1") == 0; }
inline std::string mpirun(int ranks, const std::string &command) {
  return "ASAN_OPTIONS=detect_leaks=0 timeout 120 mpirun --allow-run-as-root --oversubscribe -np " +
         std::to_string(ranks) + " " + command;
}

struct Weights {
  std::vector<float> table, bias;
};

class TrainRun : public ::testing::Test {
protected:
  struct Outcome {
    int status;
    std::string out, err;
  };
  struct Line {
    double loss, norm, rate;
  };

  void SetUp() override {
    char name[] = "/tmp/tessera-train-XXXXXX";
    folder = mkdtemp(name);
    std::mt19937 random(3);
    tokens.resize(rows * (S + 1));
    for (int64_t i = 0; i < rows * (S + 1); ++i)
      tokens[size_t(i)] = int32_t(random() % V);
    for (int64_t row : {1, 7, 8, 9}) // short ones: 3 ids, 2 ids, 1, none at all
      for (int64_t c = row == 1 ? 3 : 9 - row; c <= S; ++c)
        tokens[size_t(row * (S + 1) + c)] = -1;
    std::normal_distribution<float> normal(0, 0.3f);
    weights.table.resize(V * V);
    weights.bias.resize(V);
    for (std::vector<float> *all : {&weights.table, &weights.bias})
      for (float &x : *all)
        x = normal(random);
    writeTokens("data", tokens, S + 1);
    ASSERT_TRUE(bool(tessera::io::writeSafetensors(
        folder + "/model.safetensors",
        {{"table.weight", tessera::io::DType::F32, {V, V}, weights.table.data()},
         {"table.bias", tessera::io::DType::F32, {V}, weights.bias.data()}})));
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void writeTokens(const std::string &name, const std::vector<int32_t> &ids, int64_t width) const {
    ASSERT_TRUE(bool(tessera::io::writeSafetensors(
        folder + "/" + name + ".safetensors",
        {{"tokens", tessera::io::DType::I32, {int64_t(ids.size()) / width, width}, ids.data()}})));
  }

  std::string read(const std::string &name) const {
    std::ifstream file(folder + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Outcome shell(const std::string &command) const {
    int status = system(("cd " + folder + " && ( " + command + " ) >out 2>err").c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read("out"), read("err")};
  }
  static std::string program(int ranks, const char *driver = "fake") {
    return std::string(FAKE_PROGRAM_DIR) + "/" + driver + "_train" + std::to_string(ranks);
  }
  // A run of `steps` from the weights of SetUp.
  static std::string words(int steps, const std::string &more = "") {
    return " train --data=data.safetensors --model=model.safetensors --lr=0.1 --warmup=2 --min-lr=0.01 "
           "--steps=" +
           std::to_string(steps) + " " + more;
  }
  // The same, going on from a save.
  static std::string resumed(int steps, const std::string &save, const std::string &more = "") {
    return " train --data=data.safetensors --resume=" + save +
           " --lr=0.1 --warmup=2 --min-lr=0.01 --steps=" + std::to_string(steps) + " " + more;
  }
  void expectError(const std::string &command, const std::string &why) const {
    Outcome o = shell("timeout 120 " + command);
    // A run says first what it loads.
    size_t at = o.err.rfind("error: ");
    EXPECT_EQ(o.status, 1) << command << "\n" << o.err;
    ASSERT_NE(at, std::string::npos) << command << "\n" << o.err;
    EXPECT_EQ(o.err.find("error: "), at) << command << "\n" << o.err;
    EXPECT_EQ(o.err.find('\n', at), o.err.size() - 1) << command << "\n" << o.err;
    EXPECT_NE(o.err.find(why, at), std::string::npos) << command << "\n" << o.err;
  }

  // Plain loops: AdamW with its defaults, in double precision. The lines of the steps, and the weights after.
  std::vector<Line> reference(int steps, Weights &after, double clip = 1) const {
    after = weights;
    std::vector<double> w(after.table.begin(), after.table.end());
    w.insert(w.end(), after.bias.begin(), after.bias.end());
    std::vector<double> m(w.size()), v(w.size());
    std::vector<Line> lines;
    for (int s = 0; s < steps; ++s) {
      std::vector<double> grad;
      Line line{lossOf(w, s * B, s * B + B, &grad), 0, 0};
      for (double g : grad)
        line.norm += g * g;
      line.norm = std::sqrt(line.norm);
      line.rate = s < 2 ? 0.1 * (s + 1) / 2 : 0.01 + 0.045 * (1 + std::cos(M_PI * (s - 2) / (steps - 2)));
      lines.push_back(line);
      double scale = clip > 0 ? std::min(1.0, clip / (line.norm + 1e-6)) : 1;
      for (size_t i = 0; i < w.size(); ++i) {
        double g = scale * grad[i], t = s + 1;
        m[i] = 0.9 * m[i] + 0.1 * g;
        v[i] = 0.95 * v[i] + 0.05 * g * g;
        double step = m[i] / (1 - std::pow(0.9, t)) / (std::sqrt(v[i] / (1 - std::pow(0.95, t))) + 1e-8);
        w[i] -= line.rate * (step + (i < size_t(V * V) ? 0.1 * w[i] : 0));
      }
    }
    after.table.assign(w.begin(), w.begin() + V * V);
    after.bias.assign(w.begin() + V * V, w.end());
    return lines;
  }
  double lossOf(const std::vector<double> &w, int64_t first, int64_t end, std::vector<double> *grad) const {
    double loss = 0, count = 0;
    std::vector<double> sums(w.size());
    for (int64_t row = first; row < end; ++row)
      for (int64_t c = 0; c < S; ++c) {
        int32_t token = tokens[size_t(row * (S + 1) + c)], target = tokens[size_t(row * (S + 1) + c + 1)];
        if (target < 0)
          break;
        double p[V], sum = 0;
        for (int64_t x = 0; x < V; ++x)
          sum += p[x] = std::exp(w[size_t(token * V + x)] + w[size_t(V * V + x)] + ofPosition(c, x));
        loss -= std::log(p[target] / sum);
        ++count;
        for (int64_t x = 0; x < V; ++x)
          for (size_t at : {size_t(token * V + x), size_t(V * V + x)})
            sums[at] += p[x] / sum - (x == target);
      }
    for (double &g : sums)
      g /= count;
    if (grad)
      *grad = sums;
    return loss / count;
  }

  void expectLog(const std::string &name, const std::vector<Line> &wanted) const {
    std::istringstream text(read(name));
    std::string line;
    size_t step = 0;
    for (; std::getline(text, line); ++step) {
      nlohmann::json json = nlohmann::json::parse(line);
      ASSERT_LT(step, wanted.size()) << name;
      EXPECT_EQ(json["step"], step + 1);
      EXPECT_NEAR(json["loss"].get<double>(), wanted[step].loss, 1e-5) << name << " " << line;
      EXPECT_NEAR(json["grad_norm"].get<double>(), wanted[step].norm, 1e-5) << name << " " << line;
      EXPECT_NEAR(json["lr"].get<double>(), wanted[step].rate, 1e-12) << name << " " << line;
      EXPECT_GT(json["tokens_per_s"].get<double>(), 0);
    }
    EXPECT_EQ(step, wanted.size()) << name;
  }
  std::vector<float> tensor(const std::string &file, const std::string &name) const {
    auto model = tessera::io::ModelFile::open(folder + "/" + file);
    EXPECT_TRUE(bool(model)) << file;
    const tessera::io::TensorInfo *info = model ? (*model)->find(name) : nullptr;
    EXPECT_TRUE(info) << file << " " << name;
    if (!info)
      return {};
    const float *data = reinterpret_cast<const float *>(info->data);
    return {data, data + info->elements};
  }
  void expectWeights(const std::string &save, const Weights &wanted) const {
    for (auto &[name, values] : {std::pair("table.weight", &wanted.table), {"table.bias", &wanted.bias}}) {
      std::vector<float> saved = tensor(save + "/model.safetensors", name);
      ASSERT_EQ(saved.size(), values->size());
      for (size_t i = 0; i < saved.size(); ++i)
        EXPECT_NEAR(saved[i], (*values)[i], 2e-5) << save << " " << name << " " << i;
    }
  }
  // Whether two saves hold the same bytes.
  void expectSame(const std::string &a, const std::string &b) const {
    for (const char *file : {"model", "exp_avg", "exp_avg_sq"}) {
      std::string one = read(a + "/" + file + ".safetensors");
      EXPECT_GT(one.size(), size_t(V * V * 4)) << a << file;
      EXPECT_EQ(one, read(b + "/" + file + ".safetensors")) << a << " " << b << " " << file;
    }
  }

  std::string folder;
  std::vector<int32_t> tokens;
  Weights weights;
};

} // namespace fake
#endif
