// Targets, objects and executables: what works, and what happens when something is missing.
#include "tessera/Target/CPU/Linker.h"
#include "tessera/Target/CPU/ObjectEmitter.h"
#include "tessera/Target/CPU/Passes.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "gtest/gtest.h"

#include <csignal>
#include <fstream>
#include <set>
#include <sys/resource.h>

using namespace tessera;
using namespace mlir;

namespace {

/// A directory for one test, removed at its end.
class ObjectTest : public ::testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tessera-object", path));
    directory = path.str().str();
    DialectRegistry registry;
    registerCPUDialectExtensions(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }
  void TearDown() override { llvm::sys::fs::remove_directories(directory); }

  std::string path(llvm::StringRef name) { return directory + "/" + name.str(); }
  OwningOpRef<ModuleOp> parse(llvm::StringRef text) { return parseSourceString<ModuleOp>(text, &context); }
  std::vector<std::string> files() {
    std::vector<std::string> names;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(directory, error), end; !error && it != end;
         it.increment(error))
      names.push_back(llvm::sys::path::filename(it->path()).str());
    llvm::sort(names);
    return names;
  }
  /// Emits `text` as an object and returns its path.
  std::string object(llvm::StringRef text) {
    OwningOpRef<ModuleOp> module = parse(text);
    EXPECT_TRUE(module);
    std::string file = path("code.o");
    EXPECT_EQ(message(emitObject(*module, llvm::cantFail(resolveCPUTarget("native")), file)), "");
    return file;
  }
  static std::string message(llvm::Error error) { return error ? llvm::toString(std::move(error)) : ""; }

  MLIRContext context;
  std::string directory;
};

/// Files may not grow beyond `bytes` while this lives: what a full disk looks like to a writer.
class FullDisk {
public:
  explicit FullDisk(rlim_t bytes) {
    handler = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit limit = {bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
  }

private:
  rlimit before;
  void (*handler)(int);
};

const char kAnswer[] = R"(
llvm.func @puts(!llvm.ptr) -> i32
llvm.mlir.global internal constant @text("hello\00")
llvm.func @main() -> i32 {
  %p = llvm.mlir.addressof @text : !llvm.ptr
  %r = llvm.call @puts(%p) : (!llvm.ptr) -> i32
  %c = llvm.mlir.constant(42 : i32) : i32
  llvm.return %c : i32
})";

TEST_F(ObjectTest, TargetsAreResolvedByName) {
  CPUTarget v4 = llvm::cantFail(resolveCPUTarget("x86-64-v4"));
  EXPECT_EQ(v4.vectorBits, 512u);
  EXPECT_TRUE(llvm::is_contained(v4.requiredFeatures, "avx512f"));
  EXPECT_FALSE(llvm::is_contained(v4.requiredFeatures, "avx512_bf16"));
  CPUTarget bf16 = llvm::cantFail(resolveCPUTarget(kLevel4BF16)); // the same and one more
  EXPECT_TRUE(bf16.vectorUnit().bf16Pairs);
  EXPECT_EQ(bf16.requiredFeatures.size(), v4.requiredFeatures.size() + 1);
  EXPECT_EQ(bf16.name, "x86-64-v4-bf16");
  CPUTarget v3 = llvm::cantFail(resolveCPUTarget("x86-64-v3"));
  EXPECT_EQ(v3.vectorBits, 256u);
  EXPECT_TRUE(llvm::is_contained(v3.requiredFeatures, "fma"));
  EXPECT_FALSE(llvm::is_contained(v3.requiredFeatures, "avx512f"));
  EXPECT_EQ(llvm::cantFail(resolveCPUTarget("x86-64")).vectorBits, 128u);
  CPUTarget zen5 = llvm::cantFail(resolveCPUTarget("znver5"));
  EXPECT_EQ(zen5.vectorBits, 512u);
  EXPECT_TRUE(zen5.vectorUnit().bf16Pairs);
  EXPECT_FALSE(v4.vectorUnit().bf16Pairs);
  EXPECT_EQ(v4.vectorUnit().lanes, 16);
}

// LLVM knows every name of the table, and these two CPUs have all that it lists.
TEST_F(ObjectTest, InstructionSetsAreLlvms) {
  std::set<std::string> found;
  for (const char *name : {"sapphirerapids", "tigerlake"})
    for (const std::string &feature : llvm::cantFail(resolveCPUTarget(name)).requiredFeatures)
      found.insert(feature);
  for (const InstructionSet &set : kInstructionSets)
    EXPECT_EQ(found.count(set.name), 1u) << set.name;
}

TEST_F(ObjectTest, NativeNeedsOnlyWhatThisMachineHas) {
  CPUTarget native = llvm::cantFail(resolveCPUTarget("native"));
  std::ifstream info("/proc/cpuinfo");
  std::string text((std::istreambuf_iterator<char>(info)), std::istreambuf_iterator<char>());
  size_t flags = text.find("flags");
  ASSERT_NE(flags, std::string::npos);
  std::string line = " " + text.substr(flags, text.find('\n', flags) - flags) + " ";
  for (const std::string &feature : native.requiredFeatures)
    EXPECT_NE(line.find(" " + feature + " "), std::string::npos) << feature;
  EXPECT_GE(native.requiredFeatures.size(), 1u);
}

TEST_F(ObjectTest, UnknownCPUsAreErrors) {
  for (const char *name : {"pentium-9000", "help", "x86-64-v9", "pentium3"}) {
    auto target = resolveCPUTarget(name);
    ASSERT_FALSE(bool(target)) << name;
    std::string text = llvm::toString(target.takeError());
    EXPECT_NE(text.find("x86-64-v3"), std::string::npos) << text; // says what to use
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
}

TEST_F(ObjectTest, ExecutableRuns) {
  LinkOptions options;
  options.objects = {object(kAnswer)};
  ASSERT_EQ(message(linkExecutable(options, path("program"))), "");
  std::string output = path("output.txt");
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, llvm::StringRef(output), std::nullopt};
  EXPECT_EQ(llvm::sys::ExecuteAndWait(path("program"), {path("program")}, std::nullopt, redirects, 10), 42);
  EXPECT_EQ((*llvm::MemoryBuffer::getFile(output))->getBuffer(), "hello\n");
  EXPECT_EQ(files(), (std::vector<std::string>{"code.o", "output.txt", "program"}));
}

TEST_F(ObjectTest, EqualProgramsGiveEqualObjects) {
  std::string first = (*llvm::MemoryBuffer::getFile(object(kAnswer)))->getBuffer().str();
  EXPECT_EQ(first, (*llvm::MemoryBuffer::getFile(object(kAnswer)))->getBuffer().str());
}

TEST_F(ObjectTest, AnUndefinedSymbolLeavesTheOldProgram) {
  std::ofstream(path("program")) << "old";
  LinkOptions options;
  options.objects = {
      object("llvm.func @missing()\nllvm.func @main() -> i32 {\n llvm.call @missing() : () -> ()\n %c = "
             "llvm.mlir.constant(0 : i32) : i32\n llvm.return %c : i32\n}")};
  std::string text = message(linkExecutable(options, path("program")));
  EXPECT_NE(text.find("undefined symbol: missing"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ((*llvm::MemoryBuffer::getFile(path("program")))->getBuffer(), "old");
  EXPECT_EQ(files(), (std::vector<std::string>{"code.o", "program"}));
}

TEST_F(ObjectTest, NoLinkerIsAnError) {
  LinkOptions options;
  options.objects = {object(kAnswer)};
  options.linker = path("no-such-linker");
  std::string text = message(linkExecutable(options, path("program")));
  EXPECT_NE(text.find("no linker"), std::string::npos) << text;
  EXPECT_NE(text.find("install lld"), std::string::npos) << text;
  EXPECT_EQ(files(), (std::vector<std::string>{"code.o"}));
}

TEST_F(ObjectTest, ALinkerThatFailsSilentlyIsAnError) {
  LinkOptions options;
  options.objects = {object(kAnswer)};
  options.linker = "/bin/false";
  EXPECT_NE(message(linkExecutable(options, path("program"))).find("status 1"), std::string::npos);
  EXPECT_EQ(files(), (std::vector<std::string>{"code.o"}));
}

TEST_F(ObjectTest, MissingInputsAndPlacesAreErrors) {
  LinkOptions options;
  options.objects = {object(kAnswer), path("absent.o")};
  EXPECT_NE(message(linkExecutable(options, path("program"))).find("no file '" + path("absent.o")),
            std::string::npos);
  options.objects.pop_back();
  auto expectHint = [&](const char *hint) {
    std::string line = message(linkExecutable(options, path("no/such/place")));
    EXPECT_NE(line.find("cannot write"), std::string::npos) << line;
    EXPECT_TRUE(llvm::StringRef(line).ends_with(hint)) << line;
  };
  expectHint("; name a file in a folder that there is with -o");
  options.shared = true; // nobody named it
  expectHint("; set TMPDIR to a folder that there is");
  options.shared = false;
  OwningOpRef<ModuleOp> module = parse(kAnswer);
  EXPECT_NE(message(emitObject(*module, llvm::cantFail(resolveCPUTarget("native")), path("no/such/place.o")))
                .find("cannot write"),
            std::string::npos);
  // A directory in the way: nothing is left of the attempt.
  llvm::sys::fs::create_directory(path("taken"));
  EXPECT_NE(message(linkExecutable(options, path("taken"))).find("cannot write"), std::string::npos);
  EXPECT_EQ(files(), (std::vector<std::string>{"code.o", "taken"}));
}

TEST_F(ObjectTest, AFullDiskLeavesNothing) {
  LinkOptions options;
  options.objects = {object(kAnswer)};
  std::string linkMessage, emitMessage;
  {
    FullDisk disk(512);
    linkMessage = message(linkExecutable(options, path("program")));
    OwningOpRef<ModuleOp> module = parse(kAnswer);
    emitMessage = message(emitObject(*module, llvm::cantFail(resolveCPUTarget("native")), path("other.o")));
  }
  EXPECT_NE(linkMessage.find("cannot link"), std::string::npos) << linkMessage;
  EXPECT_NE(linkMessage.find("; make room there, or name a file elsewhere"), std::string::npos)
      << linkMessage;
  EXPECT_NE(emitMessage.find("cannot write"), std::string::npos) << emitMessage;
  EXPECT_NE(emitMessage.find("; make room there, or set TMPDIR"), std::string::npos) << emitMessage;
  EXPECT_EQ(files(), (std::vector<std::string>{"code.o"}));
}

TEST_F(ObjectTest, WhateverTheLinkerDiesOfTheLineSaysWhatToTry) {
  struct Case {
    const char *script, *why, *hint;
    bool shared = false;
  };
  for (const Case &c :
       {Case{"kill -BUS $$", "Bus error", "make room there"},
        Case{"echo 'ld.lld: error: failed to write output: No space left on device' >&2; exit 1",
             "No space left on device", "make room there, or name a file elsewhere with -o"},
        Case{"echo 'ld.lld: error: failed to write output: No space left on device' >&2; exit 1",
             "No space left on device", "make room there, or set TMPDIR", /*shared=*/true},
        Case{"echo 'ld.lld: error: cannot open output file x: Permission denied' >&2; exit 1",
             "Permission denied", "name a file in a folder that you may write to with -o"},
        Case{"echo 'ld.lld: error: cannot open output file x: Read-only file system' >&2; exit 1",
             "Read-only file system", "set TMPDIR to a folder that you may write to", /*shared=*/true},
        Case{"echo 'ld.lld: error: failed to open x: No such file or directory' >&2; exit 1",
             "No such file or directory", "name a file in a folder that there is with -o"},
        Case{"echo 'ld.lld: error: undefined symbol: f' >&2; exit 1", "undefined symbol: f",
             "install Tessera"},
        Case{"exit 7", "status 7", "make room there"}}) {
    LinkOptions options;
    options.objects = {object(kAnswer)};
    options.linker = path("linker");
    options.shared = c.shared;
    std::ofstream(options.linker) << "#!/bin/sh\n" << c.script << "\n";
    ASSERT_FALSE(llvm::sys::fs::setPermissions(options.linker, llvm::sys::fs::all_all));
    std::string line = message(linkExecutable(options, path("program")));
    size_t hint = line.rfind("; ");
    ASSERT_NE(hint, std::string::npos) << line;
    EXPECT_NE(line.substr(0, hint).find(c.why), std::string::npos) << line;
    EXPECT_EQ(line.substr(hint + 2).find(c.hint), 0u) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    EXPECT_EQ(files(), (std::vector<std::string>{"code.o", "linker"}));
  }
}

TEST_F(ObjectTest, WhatIsNotLLVMIsAnError) {
  OwningOpRef<ModuleOp> module = parse("func.func @f() {\n return\n}");
  std::string text = message(emitObject(*module, llvm::cantFail(resolveCPUTarget("native")), path("code.o")));
  EXPECT_NE(text.find("cannot translate"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_TRUE(files().empty());
}

} // namespace
