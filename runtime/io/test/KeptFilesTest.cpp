#include "tessera/runtime/io/KeptFiles.h"
#include "TestFiles.h"

using namespace tessera::io;
using namespace tessera::io::test;
namespace fs = std::filesystem;

namespace {
class Kept : public ScratchFolder {};
} // namespace

TEST_F(Kept, AFileIsWhatItsNamesMean) {
  KeptFiles kept;
  kept.add(write("read", "x"), "it is read");
  kept.add("", "nothing");
  fs::create_symlink("read", path("link"));
  fs::create_hard_link(path("read"), path("second"));
  fs::create_symlink(".", path("here"));
  for (const char *name : {"read", "./read", "link", "second", "here/read", "none/../read"})
    EXPECT_EQ(kept.claim(path(name), "-o"), "it is read") << name;
  EXPECT_EQ(kept.claim(path("other"), "-o"), "");
  EXPECT_EQ(kept.claim("", "-o"), "");
}

TEST_F(Kept, WhatIsWrittenIsKeptBeforeItIsThere) {
  KeptFiles kept;
  fs::create_symlink("new", path("link"));
  EXPECT_EQ(kept.claim(path("new"), "--log="), "");
  EXPECT_EQ(kept.claim(path("./new"), "-o "), "--log writes that file, too");
  EXPECT_EQ(kept.claim(path("link"), "-o "), "--log writes that file, too");
  EXPECT_EQ(kept.claim(path("no/folder"), "-o "), "");
  // What is written to a device replaces nothing.
  EXPECT_EQ(kept.claim("/dev/null", "--log="), "");
  EXPECT_EQ(kept.claim("/dev/null", "-o "), "");
}

TEST_F(Kept, AModelIsItsWeightsAndTexts) {
  fs::create_directories(path("m/step-2"));
  for (const char *name : {"m/config.json", "m/a.safetensors", "m/notes", "m/step-2/w.bin", "m/step-2/x"})
    write(name, "");
  write("m/model.safetensors.index.json", R"({"weight_map": {"t": "step-2/w.bin", "u": 3}})");
  KeptFiles kept;
  kept.addModel(path("m"));
  kept.addModel(path("m/notes.gguf"));
  kept.addFolder(path("none"), "none");
  const std::string why = "it is a file of the model, which would be lost";
  for (const char *name :
       {"m/config.json", "m/a.safetensors", "m/model.safetensors.index.json", "m/step-2/w.bin"})
    EXPECT_EQ(kept.claim(path(name), "-o"), why) << name;
  // Beside shards and their index a new one would be read in their place.
  for (const char *name : {"m/model.safetensors", "m/./chat_template.jinja", "m/generation_config.json"})
    EXPECT_EQ(kept.claim(path(name), "-o"), "the model would be read from a file of that name") << name;
  EXPECT_EQ(kept.claim(path("m/new.safetensors"), "-o"), "");
  EXPECT_EQ(kept.claim(path("m/notes.gguf"), "-o"), why);
  EXPECT_EQ(kept.claim(path("m/notes"), "-o"), "");
  EXPECT_EQ(kept.claim(path("m/step-2/x"), "-o"), "");
  // An index that says nothing is kept all the same.
  fs::create_directory(path("broken"));
  for (const char *text : {"{", "[]", "{}", R"({"weight_map": 3})"}) {
    KeptFiles other;
    write("broken/model.safetensors.index.json", text);
    other.addModel(path("broken"));
    EXPECT_EQ(other.claim(path("broken/model.safetensors.index.json"), "-o"), why) << text;
  }
}

TEST_F(Kept, AFolderIsItsFiles) {
  fs::create_directories(path("f/inner"));
  write("f/a", "");
  write("f/inner/b", "");
  KeptFiles kept;
  kept.addFolder(path("f"), "it is of f");
  EXPECT_EQ(kept.claim(path("f/a"), "-o"), "it is of f");
  EXPECT_EQ(kept.claim(path("f/inner/b"), "-o"), "");
}
