#include "Communicator.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <unistd.h>

namespace standin::nccl {

std::string drawName() {
  uint64_t random = 0;
  std::ifstream("/dev/urandom").read(reinterpret_cast<char *>(&random), sizeof(random));
  char text[64];
  snprintf(text, sizeof(text), "/standin-nccl-%d-%016llx", int(getpid()), (unsigned long long)random);
  return text;
}

// Of the stand-in of libcuda, which unit tests do without.
extern "C" __attribute__((weak)) int cuCtxGetDevice(int *device);

// The number of the device that this thread works on, or -1.
static int currentDevice() {
  int device = -1;
  return cuCtxGetDevice && cuCtxGetDevice(&device) == 0 ? device : -1;
}

Communicator::Communicator(std::string name, int ranks, int rank, std::shared_ptr<Communicator> parent)
    : name_(std::move(name)), ranks_(ranks), rank_(rank), parent_(std::move(parent)) {}

void Communicator::arrive() {
  segment_ = Segment::arrive(name_, ranks_, rank_);
  Member &self = segment_->member(rank_);
  self.pid = int32_t(getpid());
  self.device = currentDevice();
  const char *host = getenv("NCCL_HOSTID");
  snprintf(self.host, sizeof(self.host), "%s", host ? host : "");
  world_ = parent_ ? parent_->world_ : segment_;
  self.worldRank = parent_ ? parent_->worldRank(parent_->rank()) : rank_;
  segment_->announce();
}

std::string Communicator::complete() {
  segment_->complete();
  for (int r = 0; r < ranks_; ++r)
    worldRanks_.push_back(segment_->member(r).worldRank);
  for (int a = 0; a < ranks_; ++a)
    for (int b = a + 1; b < ranks_; ++b) {
      Member &one = segment_->member(a), &other = segment_->member(b);
      if (one.device >= 0 && one.device == other.device && strcmp(one.host, other.host) == 0)
        return "Duplicate GPU detected : rank " + std::to_string(a) + " and rank " + std::to_string(b) +
               " both on CUDA device " + std::to_string(one.device);
    }
  return "";
}

void Communicator::announceSplit(int color, int key) {
  Member &self = segment_->member(rank_);
  self.color[splits_ % 2] = color;
  self.key[splits_ % 2] = key;
  self.splits.store(++splits_, std::memory_order_release);
}

std::shared_ptr<Communicator> Communicator::split(const std::shared_ptr<Communicator> &parent, int color,
                                                  int key) {
  struct Wish {
    int key, rank;
    bool operator<(const Wish &other) const { return key != other.key ? key < other.key : rank < other.rank; }
  };
  std::vector<Wish> wishes;
  uint64_t turn = parent->splits_;
  for (int r = 0; r < parent->ranks_; ++r) {
    Member &member = parent->segment_->member(r);
    while (member.splits.load(std::memory_order_acquire) < turn)
      usleep(200);
    if (member.color[(turn - 1) % 2] == color)
      wishes.push_back({member.key[(turn - 1) % 2], r});
  }
  if (color < 0)
    return nullptr;
  std::sort(wishes.begin(), wishes.end());
  int rank = 0;
  while (wishes[size_t(rank)].rank != parent->rank_)
    ++rank;
  return std::make_shared<Communicator>(parent->name_ + "." + std::to_string(turn) + "." +
                                            std::to_string(color),
                                        int(wishes.size()), rank, parent);
}

void Communicator::enter(Run *run) {
  std::lock_guard<std::mutex> lock(mutex_);
  active_.push_back(run);
}

bool Communicator::first(Run *run) {
  std::lock_guard<std::mutex> lock(mutex_);
  return active_.front() == run;
}

void Communicator::leave(Run *run) {
  std::lock_guard<std::mutex> lock(mutex_);
  active_.erase(std::find(active_.begin(), active_.end(), run));
}

} // namespace standin::nccl
