// File systems that fail, for tests: one that stops, one that is full, one in memory that can lose power.
#ifndef TESSERA_RUNTIME_CHECKPOINT_TEST_FAULTYFILES_H
#define TESSERA_RUNTIME_CHECKPOINT_TEST_FAULTYFILES_H

#include "tessera/runtime/checkpoint/FileSystem.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

namespace tessera::checkpoint::test {

// Passes operations on. Those that change something are counted from 1; number `at` fails, half done where it
// writes. Killed: nothing is done from there on, as if the processes were gone. Full: whatever needs room
// fails from there on, and nothing else. Once: that one operation fails.
class FaultyFiles final : public FileSystem {
public:
  enum Fault { Killed, Full, Once };
  FaultyFiles(FileSystem &under, Fault fault, int64_t at) : under_(under), fault_(fault), at_(at) {}
  int64_t operations() const { return count_; }

  int makeFolder(const std::string &path) override {
    int error = step(true);
    return error ? error : under_.makeFolder(path);
  }
  int create(const std::string &path, std::unique_ptr<OutputHandle> &handle) override {
    int error = step(true);
    return error ? error : wrap(under_.create(path, handle), handle);
  }
  int openToWrite(const std::string &path, std::unique_ptr<OutputHandle> &handle) override {
    return gone() ? EIO : wrap(under_.openToWrite(path, handle), handle);
  }
  int rename(const std::string &from, const std::string &to) override {
    int error = step(false);
    return error ? error : under_.rename(from, to);
  }
  int exchange(const std::string &a, const std::string &b) override {
    int error = step(false);
    return error ? error : under_.exchange(a, b);
  }
  int remove(const std::string &path) override {
    int error = step(false);
    return error ? error : under_.remove(path);
  }
  int syncFolder(const std::string &path) override {
    int error = step(false);
    return error ? error : under_.syncFolder(path);
  }
  int list(const std::string &path, std::vector<std::string> &names) override {
    return gone() ? EIO : under_.list(path, names);
  }
  int read(const std::string &path, std::string &text) override {
    return gone() ? EIO : under_.read(path, text);
  }

private:
  struct Handle final : OutputHandle {
    Handle(FaultyFiles &files, std::unique_ptr<OutputHandle> under) : files(files), under(std::move(under)) {}
    int allocate(uint64_t bytes) override {
      int error = files.step(true);
      return error ? error : under->allocate(bytes);
    }
    int writeAt(const void *data, size_t bytes, uint64_t offset) override {
      bool last = false;
      int error = files.step(true, &last);
      if (last)
        under->writeAt(data, bytes / 2, offset);
      return error ? error : under->writeAt(data, bytes, offset);
    }
    int sync() override {
      int error = files.step(false);
      return error ? error : under->sync();
    }
    FaultyFiles &files;
    std::unique_ptr<OutputHandle> under;
  };
  int wrap(int error, std::unique_ptr<OutputHandle> &handle) {
    if (!error)
      handle = std::make_unique<Handle>(*this, std::move(handle));
    return error;
  }
  bool gone() const { return fault_ == Killed && count_ >= at_; }
  int step(bool needsRoom, bool *last = nullptr) {
    int64_t number = ++count_;
    if (last)
      *last = number == at_;
    if (number < at_)
      return 0;
    if (fault_ == Once)
      return number == at_ ? EIO : 0;
    return fault_ == Killed ? EIO : needsRoom ? ENOSPC : 0;
  }

  FileSystem &under_;
  Fault fault_;
  int64_t at_;
  std::atomic<int64_t> count_{0};
};

// A file system in memory that knows what is on the disk: bytes of a file since its last sync, names in a
// folder since its last syncFolder. Thread-safe.
class MemoryFiles final : public FileSystem {
  struct Node {
    bool isFolder = false;
    std::string bytes, durableBytes;
    std::map<std::string, std::shared_ptr<Node>> names, durableNames;
    // The last change of names since they were synced: name, and what it means (null: nothing).
    std::vector<std::pair<std::string, std::shared_ptr<Node>>> lastChange;
  };
  using Pointer = std::shared_ptr<Node>;

public:
  MemoryFiles() { root_->isFolder = true; }

  // What a loss of power may leave, written to the empty folder `where`.
  // BytesAlone: bytes that were not synced are lost, names are not. NamesAlone: names are, bytes not.
  // AllButTheLastName: of the changes of names in a folder the last one alone is there.
  enum Lost { Nothing, Unsynced, BytesAlone, NamesAlone, AllButTheLastName };
  void leaveBehind(Lost lost, const std::string &where) { leave(*root_, lost, where); }

  int makeFolder(const std::string &path) override { return add(path, true, false, nullptr); }
  int create(const std::string &path, std::unique_ptr<OutputHandle> &handle) override {
    return add(path, false, true, &handle);
  }
  int openToWrite(const std::string &path, std::unique_ptr<OutputHandle> &handle) override {
    std::lock_guard<std::mutex> lock(mutex_);
    Pointer node = find(path);
    if (!node)
      return ENOENT;
    handle = std::make_unique<Handle>(*this, node);
    return 0;
  }
  int rename(const std::string &from, const std::string &to) override {
    std::lock_guard<std::mutex> lock(mutex_);
    auto [a, nameA] = parent(from);
    auto [b, nameB] = parent(to);
    if (!a || !b || !a->names.count(nameA))
      return ENOENT;
    if (b->names.count(nameB) && !b->names[nameB]->names.empty())
      return ENOTEMPTY;
    b->names[nameB] = a->names[nameA];
    a->names.erase(nameA);
    b->lastChange = {{nameB, b->names[nameB]}};
    (a == b ? b->lastChange : (a->lastChange = {})).emplace_back(nameA, nullptr);
    return 0;
  }
  int exchange(const std::string &x, const std::string &y) override {
    std::lock_guard<std::mutex> lock(mutex_);
    auto [a, nameA] = parent(x);
    auto [b, nameB] = parent(y);
    if (!a || !b || !a->names.count(nameA) || !b->names.count(nameB))
      return ENOENT;
    std::swap(a->names[nameA], b->names[nameB]);
    b->lastChange = {{nameB, b->names[nameB]}};
    (a == b ? b->lastChange : (a->lastChange = {})).emplace_back(nameA, a->names[nameA]);
    return 0;
  }
  int remove(const std::string &path) override {
    std::lock_guard<std::mutex> lock(mutex_);
    auto [folder, name] = parent(path);
    if (!folder || !folder->names.count(name))
      return ENOENT;
    if (!folder->names[name]->names.empty())
      return ENOTEMPTY;
    folder->names.erase(name);
    folder->lastChange = {{name, nullptr}};
    return 0;
  }
  int syncFolder(const std::string &path) override {
    std::lock_guard<std::mutex> lock(mutex_);
    Pointer folder = find(path);
    if (!folder)
      return ENOENT;
    folder->durableNames = folder->names;
    folder->lastChange.clear();
    return 0;
  }
  int list(const std::string &path, std::vector<std::string> &names) override {
    std::lock_guard<std::mutex> lock(mutex_);
    names.clear();
    Pointer folder = find(path);
    if (!folder || !folder->isFolder)
      return folder ? ENOTDIR : ENOENT;
    for (const auto &[name, node] : folder->names)
      names.push_back(name);
    return 0;
  }
  int read(const std::string &path, std::string &text) override {
    std::lock_guard<std::mutex> lock(mutex_);
    Pointer node = find(path);
    if (!node)
      return ENOENT;
    text = node->bytes;
    return 0;
  }

private:
  struct Handle final : OutputHandle {
    Handle(MemoryFiles &files, Pointer node) : files(files), node(std::move(node)) {}
    int allocate(uint64_t bytes) override {
      std::lock_guard<std::mutex> lock(files.mutex_);
      node->bytes.resize(bytes);
      return 0;
    }
    int writeAt(const void *data, size_t bytes, uint64_t offset) override {
      std::lock_guard<std::mutex> lock(files.mutex_);
      if (node->bytes.size() < offset + bytes)
        node->bytes.resize(offset + bytes);
      std::memcpy(node->bytes.data() + offset, data, bytes);
      return 0;
    }
    int sync() override {
      std::lock_guard<std::mutex> lock(files.mutex_);
      node->durableBytes = node->bytes;
      return 0;
    }
    MemoryFiles &files;
    Pointer node;
  };

  std::pair<Pointer, std::string> parent(const std::string &path) {
    size_t slash = path.rfind('/');
    if (slash == std::string::npos)
      return {root_, path};
    return {find(path.substr(0, slash)), path.substr(slash + 1)};
  }
  Pointer find(const std::string &path) {
    Pointer node = root_;
    for (size_t at = 0; node && at < path.size();) {
      size_t slash = std::min(path.find('/', at), path.size());
      std::string name = path.substr(at, slash - at);
      at = slash + 1;
      if (name.empty() || name == ".")
        continue;
      auto found = node->names.find(name);
      node = found == node->names.end() ? nullptr : found->second;
    }
    return node;
  }
  int add(const std::string &path, bool isFolder, bool replace, std::unique_ptr<OutputHandle> *handle) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto [folder, name] = parent(path);
    if (!folder)
      return ENOENT;
    if (folder->names.count(name) && !replace)
      return EEXIST;
    Pointer &node = folder->names[name];
    if (!node) {
      node = std::make_shared<Node>();
      folder->lastChange = {{name, node}};
    }
    node->isFolder = isFolder;
    node->bytes.clear();
    if (handle)
      *handle = std::make_unique<Handle>(*this, node);
    return 0;
  }
  static void leave(const Node &folder, Lost lost, const std::string &where) {
    std::filesystem::create_directories(where);
    bool durableBytes = lost == Unsynced || lost == BytesAlone;
    auto names = lost == Nothing || lost == BytesAlone ? folder.names : folder.durableNames;
    if (lost == AllButTheLastName)
      for (const auto &[name, node] : folder.lastChange) {
        names.erase(name);
        if (node)
          names[name] = node;
      }
    for (const auto &[name, node] : names)
      if (node->isFolder)
        leave(*node, lost, where + "/" + name);
      else
        std::ofstream(where + "/" + name, std::ios::binary)
            << (durableBytes ? node->durableBytes : node->bytes);
  }

  std::mutex mutex_;
  Pointer root_ = std::make_shared<Node>();
};

} // namespace tessera::checkpoint::test
#endif
