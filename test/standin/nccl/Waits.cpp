#include "Waits.h"

#include <cstdio>

namespace standin::nccl {

// Held by a place that shows nothing.
constexpr uint64_t kTaken = 1;

WaitingPlace::WaitingPlace(Segment &world, int rank) : world_(world), rank_(rank) {
  for (Waiting &waiting : world.member(rank).waiting) {
    uint64_t none = 0;
    if (waiting.key.compare_exchange_strong(none, kTaken)) {
      waiting_ = &waiting;
      return;
    }
  }
}

WaitingPlace::~WaitingPlace() {
  if (waiting_)
    waiting_->key = 0;
}

void WaitingPlace::set(uint64_t key, uint64_t missing, const std::string &text) {
  if (!waiting_)
    return;
  if (waiting_->key.load() != key) {
    snprintf(waiting_->text, sizeof(waiting_->text), "%s", text.c_str());
    waiting_->missing = missing;
    waiting_->key = key;
  } else {
    waiting_->missing = missing;
  }
  ++waiting_->looks;
}

void WaitingPlace::clear() {
  if (waiting_) {
    waiting_->missing = 0;
    waiting_->key = kTaken;
  }
}

std::string WaitingPlace::circle() {
  std::vector<const Waiting *> others;
  std::string path = waiting_ ? find(others) : "";
  bool goesOn = !path.empty() && others == others_;
  std::vector<uint64_t> looks;
  for (const Waiting *other : others)
    looks.push_back(other->looks);
  for (size_t i = 0; goesOn && i < looks.size(); ++i)
    goesOn = looks[i] != looks_[i];
  others_ = others;
  looks_ = looks;
  return goesOn ? path : "";
}

// `others`: the places that the circle goes through, beside this one.
std::string WaitingPlace::find(std::vector<const Waiting *> &others) const {
  // Steps from who waits to whom it waits for, until one comes back here. A rank that has come to the same
  // thing is no part of it.
  struct Step {
    int rank;
    uint64_t key;
    std::string path;
    std::vector<const Waiting *> places;
  };
  std::vector<Step> open;
  std::vector<bool> seen(size_t(world_.ranks()));
  auto text = [](int rank, const Waiting &waiting) {
    return "rank " + std::to_string(rank) + " waits in " + std::string(waiting.text);
  };
  auto follow = [&](const Waiting &waiting, const std::string &path,
                    const std::vector<const Waiting *> &places) {
    uint64_t missing = waiting.missing;
    for (int r = 0; r < world_.ranks(); ++r)
      if (missing >> r & 1 && !seen[size_t(r)]) {
        seen[size_t(r)] = true;
        open.push_back({r, waiting.key, path + " for rank " + std::to_string(r), places});
      }
  };
  follow(*waiting_, text(rank_, *waiting_), {});
  while (!open.empty()) {
    Step step = open.back();
    open.pop_back();
    for (const Waiting &waiting : world_.member(step.rank).waiting) {
      uint64_t key = waiting.key;
      if (key <= kTaken || key == step.key)
        continue;
      std::string path = step.path + ", " + text(step.rank, waiting);
      std::vector<const Waiting *> places = step.places;
      places.push_back(&waiting);
      if (waiting.missing >> rank_ & 1) {
        others = places;
        return path + " for rank " + std::to_string(rank_);
      }
      follow(waiting, path, places);
    }
  }
  return "";
}

} // namespace standin::nccl
