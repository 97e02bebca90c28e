// OUT plot end to end: any executable draws logs from anywhere, and a mistake leaves what there was.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>

namespace {

class PlotCommand : public ::testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/tessera-plot-XXXXXX";
    folder = mkdtemp(name);
    for (const char *run : {"a", "b"}) {
      std::filesystem::create_directory(folder + "/" + run);
      std::ofstream(folder + "/" + run + "/log.jsonl")
          << "{\"step\":1,\"loss\":3}\n{\"step\":2,\"loss\":2.5}\n";
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string read(const std::string &name) const {
    std::ifstream file(folder + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The exit status; what it says is in the file "said".
  int run(const std::string &words) const {
    int status = std::system(
        ("cd " + folder + " && " FAKE_PROGRAM_DIR "/fake_tp2 plot " + words + " >said 2>&1").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string folder;
};

TEST_F(PlotCommand, WritesOnePage) {
  EXPECT_EQ(run("a/log.jsonl b/log.jsonl -o page.html"), 0) << read("said");
  EXPECT_EQ(read("said"), "");
  std::string page = read("page.html");
  EXPECT_EQ(page.rfind("<!DOCTYPE html>", 0), 0u);
  EXPECT_NE(page.find("a</td><td>2</td><td>2.5</td>"), std::string::npos);
  EXPECT_EQ(page.substr(page.size() - 8), "</html>\n");
}

TEST_F(PlotCommand, AMistakeIsOneLineAndChangesNothing) {
  std::ofstream(folder + "/page.html") << "old";
  EXPECT_EQ(run("a/log.jsonl none.jsonl -o page.html"), 1);
  EXPECT_EQ(
      read("said").rfind("error: cannot read log (none.jsonl): No such file or directory; give a file", 0),
      0u)
      << read("said");
  EXPECT_EQ(run("a/log.jsonl -o a/log.jsonl"), 1);
  EXPECT_EQ(
      read("said"),
      "error: cannot write the page (a/log.jsonl): this run reads that file; name another file with -o\n");
  EXPECT_EQ(run("a/log.jsonl -o -"), 1);
  EXPECT_EQ(read("said"),
            "error: cannot write the page (-o -): nothing is written to standard output; name a file\n");
  EXPECT_EQ(run("a/log.jsonl -o no/page.html"), 1);
  EXPECT_EQ(read("said"),
            "error: cannot write the page (no/page.html): No such file or directory; check the path\n");
  EXPECT_EQ(read("page.html"), "old");
  EXPECT_EQ(read("a/log.jsonl"), read("b/log.jsonl"));
}

} // namespace
