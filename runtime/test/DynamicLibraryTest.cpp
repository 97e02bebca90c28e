// Where libraries are looked for, and what is said of one that is not there.
#include "tessera/runtime/core/DynamicLibrary.h"
#include "tessera/runtime/core/Error.h"

#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <unistd.h>

namespace tessera::runtime {
namespace {

namespace fs = std::filesystem;

class DynamicLibraryTest : public testing::Test {
protected:
  void SetUp() override {
    for (const char *name : {"VIRTUAL_ENV", "PATH", "HOME", "CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH"})
      if (const char *value = getenv(name))
        before[name] = value;
    fs::create_directories(root);
    setenv("VIRTUAL_ENV", (root / "venv").c_str(), 1);
    setenv("PATH", (root / "python/bin").c_str(), 1);
    setenv("HOME", root.c_str(), 1);
    for (const char *name : {"CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH", "TESSERA_TEST_LIBRARY"})
      unsetenv(name);
  }
  void TearDown() override {
    fs::remove_all(root);
    unsetenv("VIRTUAL_ENV");
    for (const auto &[name, value] : before)
      setenv(name.c_str(), value.c_str(), 1);
  }

  // A library that is there under another name: the C library's mathematics.
  void put(const std::string &file) {
    Dl_info info;
    ASSERT_NE(dladdr(reinterpret_cast<void *>(static_cast<double (*)(double)>(&std::erf)), &info), 0);
    fs::create_directories((root / file).parent_path());
    fs::create_symlink(fs::canonical(info.dli_fname), root / file);
  }
  std::string failure() {
    try {
      openLibrary(request);
    } catch (const Error &e) {
      return e.what();
    }
    return "";
  }

  std::map<std::string, std::string> before; // of the environment
  fs::path root = fs::path(testing::TempDir()) / ("libraries." + std::to_string(getpid()));
  LibraryRequest request{"Fake",
                         {"libtessera_fake.so.2", "libtessera_fake.so.1"},
                         "TESSERA_TEST_LIBRARY",
                         {"nvidia/fake/lib"},
                         "install it: pip install fake"};
};

TEST_F(DynamicLibraryTest, PackagesOfTheVirtualEnvironmentComeFirst) {
  put("python/lib/python3.9/site-packages/nvidia/fake/lib/libtessera_fake.so.2");
  fs::create_directories(root / "python/bin");
  fs::create_symlink("/nonexistent", root / "python/bin/other");
  for (const std::string &folder : libraryFolders(request)) // no python3 there
    EXPECT_EQ(folder.find(root.string()), std::string::npos) << folder;
  fs::create_symlink("/", root / "python/bin/python3");
  EXPECT_EQ(openLibrary(request).path,
            root / "python/lib/python3.9/site-packages/nvidia/fake/lib/libtessera_fake.so.2");
  put("venv/lib/python3.11/site-packages/nvidia/fake/lib/libtessera_fake.so.1");
  DynamicLibrary library = openLibrary(request);
  EXPECT_EQ(library.path, root / "venv/lib/python3.11/site-packages/nvidia/fake/lib/libtessera_fake.so.1");
  EXPECT_NE(library.symbol(request, "erf"), nullptr);
  EXPECT_THROW(library.symbol(request, "no_such_function"), Error);
}

TEST_F(DynamicLibraryTest, TheVariableDecidesAlone) {
  put("venv/lib/python3.11/site-packages/nvidia/fake/lib/libtessera_fake.so.1");
  put("here/libtessera_fake.so.1");
  setenv("TESSERA_TEST_LIBRARY", (root / "here").c_str(), 1);
  EXPECT_EQ(openLibrary(request).path, root / "here/libtessera_fake.so.1");
  setenv("TESSERA_TEST_LIBRARY", (root / "here/libtessera_fake.so.1").c_str(), 1);
  EXPECT_EQ(openLibrary(request).path, root / "here/libtessera_fake.so.1");
  setenv("TESSERA_TEST_LIBRARY", (root / "nowhere").c_str(), 1);
  EXPECT_NE(failure().find("TESSERA_TEST_LIBRARY="), std::string::npos) << failure();
}

TEST_F(DynamicLibraryTest, WhatIsMissingIsOneLine) {
  fs::create_directories(root / "venv/lib/python3.11/site-packages/nvidia/fake/lib");
  std::string line = failure();
  EXPECT_NE(line.find("cannot open Fake (libtessera_fake.so.2 or libtessera_fake.so.1): "), std::string::npos)
      << line;
  EXPECT_NE(line.find("nor in " + (root / "venv").string()), std::string::npos) << line;
  EXPECT_NE(line.find("; install it: pip install fake, or name it with TESSERA_TEST_LIBRARY"),
            std::string::npos)
      << line;
}

TEST_F(DynamicLibraryTest, ABrokenFileIsNamed) {
  fs::path folder = root / "venv/lib/python3.11/site-packages/nvidia/fake/lib";
  fs::create_directories(folder);
  FILE *file = fopen((folder / "libtessera_fake.so.2").c_str(), "w");
  fputs("no library", file);
  fclose(file);
  EXPECT_NE(failure().find("libtessera_fake.so.2: "), std::string::npos) << failure();
}

} // namespace
} // namespace tessera::runtime
