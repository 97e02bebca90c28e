#include "HostWorld.h"

namespace tessera::runtime {

template <typename T> void Mailbox::Chain<T>::append(T &item) {
  item.next = nullptr;
  (last ? last->next : first) = &item;
  last = &item;
}

template <typename T> T *Mailbox::Chain<T>::take(int64_t from, uint32_t tag) {
  for (T *before = nullptr, *at = first; at; before = at, at = at->next) {
    if (at->from != from || at->tag != tag)
      continue;
    (before ? before->next : first) = at->next;
    if (last == at)
      last = before;
    return at;
  }
  return nullptr;
}

void Mailbox::put(Envelope &envelope) {
  envelope.taken.store(false, std::memory_order_relaxed);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Bucket &here = bucket(envelope.from, envelope.tag);
    if (PostedReceive *posted = here.wanted.take(envelope.from, envelope.tag))
      posted->envelope.store(&envelope, std::memory_order_release);
    else
      here.come.append(envelope);
  }
  bell.add(1);
}

void Mailbox::want(PostedReceive &posted) {
  std::lock_guard<std::mutex> lock(mutex_);
  Bucket &here = bucket(posted.from, posted.tag);
  Envelope *envelope = here.come.take(posted.from, posted.tag);
  posted.envelope.store(envelope, std::memory_order_release);
  if (!envelope)
    here.wanted.append(posted);
}

void Barrier::arrive() {
  uint32_t generation = generation_.load();
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks_) {
    arrived_.store(0, std::memory_order_relaxed); // ordered before the next arrivals by the generation
    generation_.add(1);
    return;
  }
  while (generation_.load() == generation)
    generation_.waitWhile(generation);
}

Note &HostWorld::freeNote(int64_t rank) {
  Written &written = written_[rank];
  auto isFree = [&] {
    return written.next < written.notes.size() &&
           written.notes[written.next].envelope.taken.load(std::memory_order_acquire);
  };
  if (!isFree() && written.notes.size() < size_t(64 * ranks))
    return written.notes.emplace_back();
  WaitWord &bell = notes[rank].bell;
  for (uint32_t seen = bell.load(); !isFree(); seen = bell.load())
    bell.waitWhile(seen);
  Note &note = written.notes[written.next];
  written.next = (written.next + 1) % written.notes.size();
  return note;
}

std::shared_ptr<HostWorld> createHostWorld(int64_t ranks, Board &board) {
  return std::make_shared<HostWorld>(ranks, board);
}

} // namespace tessera::runtime
