// Saves that are stopped anywhere, on a disk that is full or loses power: the last whole one stays, and DIR
// loads at every moment.
#include "FaultyFiles.h"
#include "TestRun.h"

#include <set>

using namespace tessera;
using namespace tessera::checkpoint;
using namespace tessera::checkpoint::test;

namespace {

const runtime::AxisList half = {{"tp", 1, 2}};

// Few parameters: every write is an operation that a save is stopped at.
std::vector<ParamSpec> fewParams(io::DType dtype = io::DType::F32) {
  std::vector<ParamSpec> params = modelParams(dtype);
  return {params[0], params[2]};
}
// Two ranks, weights and one state.
TrainingRun twoRanks() {
  return {Mesh({{"tp", 2}}),
          {{"model.safetensors", sharded(fewParams(), half)},
           {"moment.safetensors", sharded(fewParams(io::DType::BF16), {}, half)}}};
}

class StoreTest : public io::test::ScratchFolder {
protected:
  std::set<std::string> names(const std::string &folder) const {
    std::set<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(path(folder)))
      names.insert(entry.path().filename().string());
    return names;
  }
  // DIR as the compiler and transformers load it, and as a run resumes from it: one whole save, the same.
  int64_t stepOf(const std::string &folder) const {
    auto model = io::ModelFile::open(path(folder));
    EXPECT_TRUE(model) << model.failure().message();
    auto save = Checkpoint::open(path(folder));
    EXPECT_TRUE(save) << save.failure().message();
    if (!model || !save)
      return -1;
    Status verified = (*save)->verify();
    EXPECT_TRUE(verified) << verified.failure().message();
    int64_t step = (*save)->place().step;
    EXPECT_EQ(stepOfWeights(**model), step);
    EXPECT_EQ(stepOfWeights(*(*save)->file("model.safetensors")), step);
    EXPECT_NE((*model)->text("config.json"), nullptr);
    return step;
  }
  // What is called step-N is whole.
  void expectWholeSteps(const std::string &folder) const {
    for (const std::string &name : names(folder))
      if (name.rfind("step-", 0) == 0 && name.find(".part") == std::string::npos) {
        auto save = Checkpoint::open(path(folder) + "/" + name);
        ASSERT_TRUE(save) << save.failure().message();
        EXPECT_TRUE((*save)->verify());
      }
  }
  void save(const TrainingRun &run, const std::string &folder, int64_t step, int64_t keep) {
    Status status = run.save(path(folder), step, keep);
    ASSERT_TRUE(status) << status.failure().message();
  }
};

TEST_F(StoreTest, TheLastOnesStay) {
  TrainingRun run = twoRanks();
  for (int64_t step : {5, 10, 15, 120})
    save(run, "run", step, 2);
  EXPECT_EQ(names("run"), (std::set<std::string>{"config.json", "model.safetensors.index.json", "step-120",
                                                 "step-15", "tokenizer.json"}));
  EXPECT_EQ(names("run/step-15"),
            (std::set<std::string>{"checkpoint.json", "config.json", "model.safetensors",
                                   "moment.safetensors", "tokenizer.json"}));
  EXPECT_EQ(stepOf("run"), 120);
  EXPECT_EQ(stepOf("run/step-15"), 15);
}

TEST_F(StoreTest, AllThatThereIsToKnowComesBack) {
  save(twoRanks(), "deep/er/run", 7, 1);
  auto save = Checkpoint::open(path("deep/er/run/"));
  ASSERT_TRUE(save) << save.failure().message();
  const TrainingPlace &place = (*save)->place();
  EXPECT_EQ(place.step, 7);
  EXPECT_EQ(place.updates, 6);
  EXPECT_EQ(place.rows, 56);
  EXPECT_EQ(place.lossScale, 1024.5);
  EXPECT_EQ(place.goodSteps, 3);
  EXPECT_EQ(place.passRows, 64);
  EXPECT_EQ(place.shuffle, UINT64_MAX);
  EXPECT_EQ((*save)->path(), path("deep/er/run/step-7"));
  EXPECT_EQ((*save)->file("moment.safetensors")->find("wte.weight")->dtype, io::DType::BF16);
  EXPECT_EQ((*save)->file("other.safetensors"), nullptr);
}

TEST_F(StoreTest, ARunFromAnEarlierStepTakesTheFoldersPlace) {
  TrainingRun run = twoRanks();
  for (int64_t step : {10, 20, 30})
    save(run, "run", step, 5);
  run.texts[1].second = "{\"another\": 1}";
  save(run, "run", 15, 5); // resumed from 10
  EXPECT_EQ(stepOf("run"), 15);
  EXPECT_EQ(names("run").count("step-20") + names("run").count("step-30"), 0u);
  EXPECT_EQ(names("run").count("step-10"), 1u);
  EXPECT_EQ(io::test::readBytes(path("run/tokenizer.json")), "{\"another\": 1}");
  save(run, "run", 15, 5); // the same step again
  EXPECT_EQ(stepOf("run"), 15);
}

TEST_F(StoreTest, SavesOfARunThatIsNotFollowedGo) {
  TrainingRun run = twoRanks();
  for (int64_t step : {5, 10, 15, 20})
    save(run, "run", step, 9);
  run.begun = 10;
  save(run, "run", 20, 9); // behind step-15, which is of the run before
  std::set<std::string> steps;
  for (const std::string &name : names("run"))
    if (name.rfind("step-", 0) == 0)
      steps.insert(name);
  EXPECT_EQ(steps, (std::set<std::string>{"step-5", "step-10", "step-20"}));
}

TEST_F(StoreTest, AFolderWithAnotherModelIsLeftAlone) {
  std::filesystem::create_directory(path("model"));
  write("model/model.safetensors", "weights");
  Status status = twoRanks().save(path("model"), 1, 1);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.failure().message(),
            "cannot save checkpoint (" + path("model") +
                "): it holds a model that is no save of a run; name another folder");
  std::filesystem::create_directory(path("shards"));
  write("shards/model.safetensors.index.json", R"({"metadata": {"total_size": 4}, "weight_map": {}})");
  EXPECT_FALSE(twoRanks().save(path("shards"), 1, 1));
  EXPECT_EQ(names("model"), std::set<std::string>{"model.safetensors"});
  write("file", "");
  EXPECT_FALSE(twoRanks().save(path("file"), 1, 1));
}

// Whatever it is called: saves remove what saves left.
TEST_F(StoreTest, WhatOthersLeftInTheFolderStays) {
  TrainingRun run = twoRanks();
  std::filesystem::create_directories(path("run/work.part"));
  std::filesystem::create_directories(path("kept"));
  write("run/work.part/notes.txt", "notes");
  write("run/film.part", "film");
  write("run/README.md", "mine");
  write("kept/inside", "of another folder");
  std::filesystem::create_directory_symlink(path("kept"), path("run/step-9.part")); // as if left half done
  for (int64_t step : {5, 10, 15, 7})
    save(run, "run", step, 1);
  EXPECT_EQ(names("run"),
            (std::set<std::string>{"README.md", "config.json", "film.part", "model.safetensors.index.json",
                                   "step-7", "tokenizer.json", "work.part"}));
  EXPECT_EQ(io::test::readBytes(path("run/work.part/notes.txt")), "notes");
  EXPECT_EQ(io::test::readBytes(path("run/README.md")), "mine");
  EXPECT_EQ(io::test::readBytes(path("kept/inside")), "of another folder");
}

TEST_F(StoreTest, WhatSavesWouldReplaceIsRefused) {
  TrainingRun run = twoRanks();
  auto refused = [&](const std::string &folder, const std::string &why) {
    const std::set<std::string> before = names(folder);
    Status status = run.save(path(folder), 1, 1);
    ASSERT_FALSE(status) << folder;
    EXPECT_EQ(status.failure().message(),
              "cannot save checkpoint (" + path(folder) + "): " + why + "; name another folder");
    EXPECT_EQ(names(folder), before);
  };
  std::filesystem::create_directories(path("other/step-1000"));
  write("other/step-1000/state.pt", "of another tool");
  std::filesystem::create_directories(path("other/step-1.part"));
  refused("other", "it holds step-1000, which is no save of a run");
  std::filesystem::create_directory(path("text"));
  write("text/config.json", "mine");
  refused("text", "it holds another config.json than the model's, which no save has written");
  write("text/config.json", run.texts[0].second); // the model's own: nothing is lost
  save(run, "text", 1, 1);
  // What a save has brought is another save's to replace; a file that came since is not.
  run.texts.emplace_back("README.md", "the model's card");
  write("text/README.md", "mine");
  refused("text", "it holds another README.md than the model's, which no save has written");
}

// Operation n of a save fails, for all n, and others do not: names that had changed are changed back.
TEST_F(StoreTest, AFailureAnywhereLeavesWhatWasThere) {
  const TrainingRun run = twoRanks();
  TrainingRun next = run;
  next.texts[1].second = "{\"another\": 1}";
  save(run, "base", 1, 2);
  save(run, "base", 2, 2);
  for (int64_t step : {2, 3}) {
    int64_t failures = 0, lateFailures = 0;
    for (int64_t at = 1;; ++at) {
      std::filesystem::remove_all(path("run"));
      std::filesystem::copy(path("base"), path("run"), std::filesystem::copy_options::recursive);
      FaultyFiles files(realFiles(), FaultyFiles::Once, at);
      const bool saved = bool(next.save(path("run"), step, 2, files));
      if (files.operations() < at)
        break;
      const std::string text = io::test::readBytes(path("run/tokenizer.json"));
      const int64_t shown = stepOf("run");
      failures += !saved;
      // The last thing a save does is to bring the index's name to the disk: if that fails, it is there.
      const bool isNew = text != "{}";
      lateFailures += isNew && !saved;
      EXPECT_EQ(shown, isNew ? step : 2) << at;
      EXPECT_TRUE(isNew || !saved) << at;
      EXPECT_EQ(io::test::readBytes(path("run/step-2/tokenizer.json")), isNew && step == 2 ? text : "{}")
          << at;
      EXPECT_EQ(names("run").count("step-3"), size_t(isNew && step == 3)) << at;
      EXPECT_TRUE(saved || names("run").count("step-1")) << at;
      expectWholeSteps("run");
    }
    EXPECT_GT(failures, 20);
    EXPECT_EQ(lateFailures, 1);
  }
}

// Stopped at operation n of a save, for all n, with the write that n is half done.
TEST_F(StoreTest, KilledAnywhereTheLastWholeSaveResumes) {
  const TrainingRun run = twoRanks();
  for (int64_t again = 0; again < 2; ++again) { // a new step; the newest step once more
    save(run, "base", 1, 2);
    save(run, "base", 2, 2);
    const int64_t next = again ? 2 : 3;
    int64_t at = 1, olds = 0, news = 0;
    for (bool done = false; !done; ++at) {
      std::filesystem::remove_all(path("run"));
      std::filesystem::copy(path("base"), path("run"), std::filesystem::copy_options::recursive);
      FaultyFiles files(realFiles(), FaultyFiles::Killed, at);
      const Status status = run.save(path("run"), next, 2, files);
      done = bool(status) && files.operations() < at;
      if (!status) // of a folder that nobody can look into any more
        EXPECT_NE(status.failure().message().find("; earlier saves are whole"), std::string::npos)
            << status.failure().message();
      ASSERT_LT(at, 300);
      int64_t step = stepOf("run");
      EXPECT_TRUE(step == 2 || step == next) << "stopped at " << at;
      ++(step == next ? news : olds);
      expectWholeSteps("run");
      if (at % 7 == 0) { // and the run goes on
        save(run, "run", 4, 2);
        EXPECT_EQ(stepOf("run"), 4);
        for (const std::string &name : names("run"))
          EXPECT_EQ(name.find(".part"), std::string::npos) << name;
      }
    }
    if (!again) {
      EXPECT_GT(olds, 20); // the save has not happened yet
      EXPECT_GT(news, 2);  // or it has, and old ones are being removed
    }
    std::filesystem::remove_all(path("base"));
  }
}

TEST_F(StoreTest, TheVeryFirstSaveIsThereOrNot) {
  const TrainingRun run{Mesh(), {{"model.safetensors", fewParams()}}};
  for (int64_t at = 1, done = 0; !done; ++at) {
    std::filesystem::remove_all(path("run"));
    FaultyFiles files(realFiles(), FaultyFiles::Killed, at);
    done = bool(run.save(path("run"), 1, 1, files)) && files.operations() < at;
    auto save = Checkpoint::open(path("run"));
    if (save) {
      EXPECT_TRUE((*save)->verify()) << at;
      expectWholeSteps("run");
    }
    // Transformers reads DIR or finds no weights in it.
    if (std::filesystem::exists(path("run/model.safetensors.index.json")))
      EXPECT_EQ(stepOf("run"), 1);
  }
  EXPECT_EQ(stepOf("run"), 1);
}

// From operation n on nothing has room.
TEST_F(StoreTest, AFullDiskIsOneErrorAndLosesNoSave) {
  const TrainingRun run = twoRanks();
  save(run, "base", 1, 2);
  save(run, "base", 2, 2);
  int64_t failures = 0;
  for (int64_t at = 1;; ++at) {
    std::filesystem::remove_all(path("run"));
    std::filesystem::copy(path("base"), path("run"), std::filesystem::copy_options::recursive);
    FaultyFiles files(realFiles(), FaultyFiles::Full, at);
    Status status = run.save(path("run"), 3, 2, files);
    EXPECT_EQ(stepOf("run"), status ? 3 : 2);
    expectWholeSteps("run");
    if (status)
      break;
    ++failures;
    std::string message = status.failure().message();
    EXPECT_EQ(message.rfind("cannot save checkpoint (" + path("run"), 0), 0u) << message;
    EXPECT_NE(message.find("No space left on device; free some space; earlier saves are whole"),
              std::string::npos)
        << message;
    for (const std::string &name : names("run"))
      EXPECT_EQ(name.find(".part"), std::string::npos) << name;
  }
  EXPECT_GT(failures, 15);
}

// Power lost after operation n. What was not brought to the disk may be there or not, bytes and names each.
TEST_F(StoreTest, PowerLostAnywhereTheLastWholeSaveResumes) {
  const TrainingRun run = twoRanks();
  for (auto lost : {MemoryFiles::Nothing, MemoryFiles::Unsynced, MemoryFiles::BytesAlone,
                    MemoryFiles::NamesAlone, MemoryFiles::AllButTheLastName})
    for (int64_t at = 1, done = 0; !done; ++at) {
      MemoryFiles disk;
      for (int64_t step : {1, 2})
        ASSERT_TRUE(run.save("run", step, 2, disk));
      FaultyFiles files(disk, FaultyFiles::Killed, at);
      done = bool(run.save("run", 3, 2, files)) && files.operations() < at;
      std::filesystem::remove_all(path("left"));
      disk.leaveBehind(lost, path("left"));
      int64_t step = stepOf("left/run");
      EXPECT_TRUE(step == 2 || step == 3) << "lost " << lost << " at " << at;
      if (done) {
        EXPECT_EQ(step, 3); // what was reported as saved is on the disk
      }
      expectWholeSteps("left/run");
    }
}

} // namespace
