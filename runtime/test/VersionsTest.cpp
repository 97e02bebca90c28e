// Which version of an executable's code runs where.
#include "Versions.h"
#include "tessera/runtime/core/Error.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tessera::runtime {
namespace {

const std::vector<std::string> held = {"v3", "v4", "v4-bf16"};

// Of a machine that runs the versions up to `last`.
size_t chosenWhere(int last, const char *forced = nullptr) {
  return chooseVersion(held, forced, [&](size_t number) { return int(number) <= last; });
}

TEST(Versions, TheLastThatRunsIsTaken) {
  EXPECT_EQ(chosenWhere(2), 2u);
  EXPECT_EQ(chosenWhere(1), 1u);
  EXPECT_EQ(chosenWhere(0), 0u);
}

// The plainest one then says what the machine lacks.
TEST(Versions, WhereNoneRunsItIsTheFirst) { EXPECT_EQ(chosenWhere(-1), 0u); }

// One need not run what the one before it does.
TEST(Versions, EachIsAskedForItself) {
  EXPECT_EQ(chooseVersion(held, nullptr, [](size_t number) { return number == 2; }), 2u);
}

TEST(Versions, ANameIsTakenAsItIs) {
  EXPECT_EQ(chosenWhere(2, "v3"), 0u);
  EXPECT_EQ(chosenWhere(2, "v4"), 1u);
  EXPECT_EQ(chosenWhere(0, "v4-bf16"), 2u); // what it lacks is said where programs are checked
  EXPECT_EQ(chosenWhere(2, ""), 2u);
}

TEST(Versions, UnknownNamesAreRefused) {
  try {
    chosenWhere(2, "v5");
    ADD_FAILURE() << "it was taken";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "cannot choose code for this CPU (TESSERA_CPU=v5): this executable holds v3, "
                               "v4, v4-bf16; name one of them, or leave the variable out");
  }
}

TEST(Versions, AProgramWithoutVersionsIsItself) {
  const ts_program alone{};
  const ChosenProgram chosen = chooseProgram(alone, [](const Manifest &) {
    ADD_FAILURE() << "there is nothing to choose";
    return false;
  });
  EXPECT_EQ(chosen.program, &alone);
  EXPECT_EQ(withVersions("a\nb\n", chosen, false), "a\nb\n");
}

TEST(Versions, InfoNamesThem) {
  const ChosenProgram chosen{nullptr, held, 1};
  EXPECT_EQ(withVersions("a\nb\n", chosen, false), "a\ncode         v4, of v3, v4, v4-bf16\nb\n");
  const auto info = nlohmann::json::parse(withVersions("{\"a\": 1}\n", chosen, true));
  EXPECT_EQ(info["a"], 1);
  EXPECT_EQ(info["version"], "v4");
  EXPECT_EQ(info["versions"], nlohmann::json(held));
}

TEST(Versions, InfoNamesWhatMultipliesBfloat16) {
  Manifest manifest;
  manifest.matmuls.resize(2);
  manifest.matmuls[1].x = manifest.matmuls[1].w = io::DType::BF16;
  EXPECT_EQ(withBfloat16Unit("a\nb\n", manifest, "AMX", false),
            "a\nbfloat16     multiplied by AMX here\nb\n");
  EXPECT_EQ(nlohmann::json::parse(withBfloat16Unit("{}\n", manifest, "AMX", true))["bfloat16_unit"], "AMX");
  EXPECT_EQ(withBfloat16Unit("a\nb\n", manifest, "", false), "a\nb\n"); // of a driver that does not say
  manifest.matmuls[1].w = io::DType::F32;
  EXPECT_EQ(withBfloat16Unit("a\nb\n", manifest, "AMX", false), "a\nb\n");
}

// A program that computes in bfloat16 need not multiply it.
TEST(Versions, InfoNamesNothingForProductsOfBlocks) {
  Manifest manifest;
  manifest.dtype = "bf16";
  manifest.params.resize(1);
  manifest.matmuls.resize(1);
  MatmulSpec &product = manifest.matmuls[0];
  product.x = product.w = io::DType::BF16;
  product.param = 0;
  EXPECT_NE(withBfloat16Unit("a\nb\n", manifest, "AMX", false), "a\nb\n");
  manifest.params[0].held = {io::DType::Q8_0};
  EXPECT_EQ(withBfloat16Unit("a\nb\n", manifest, "AMX", false), "a\nb\n");
}

} // namespace
} // namespace tessera::runtime
